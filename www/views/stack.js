/** A stack, innermost frame first, with everything that is not the user's folded away. */
import { fill, h } from './dom.js';
import { copyPlaceButton, whereText } from './folders.js';

/** Runs of other people's frames are one line that opens. */
export function stackView(frames) {
  if (frames.length === 0) {
    return h('p', { class: 'quiet' }, 'No stack was recorded.');
  }
  const list = h('ol', { class: 'stack' });
  const strange = frames.every((frame) => frame.kind !== 'user') && h('p', { class: 'quiet' }, 'None of your own code is on this stack.');
  const folded = runs(frames).map((run) => (run[0].kind === 'user' ? run.map(frameItem) : fold(run)));
  list.append(...folded.flat());
  if (frames.every((frame) => frame.kind === 'user') || frames.length < 2) {
    return list;
  }
  const all = h('button', { type: 'button', class: 'link', 'aria-pressed': 'false' }, 'Show all frames');
  all.addEventListener('click', () => {
    const open = all.getAttribute('aria-pressed') === 'false';
    all.setAttribute('aria-pressed', String(open));
    all.textContent = open ? 'Fold library frames' : 'Show all frames';
    fill(list, open ? frames.map(frameItem) : folded);
  });
  return h('div', {}, strange, list, all);
}

/** Where a frame is, short, with the whole path on demand. */
export function place({ file, line, name }) {
  if (file === '') {
    return h('span', { class: 'place' }, name);
  }
  const parts = file.split('/');
  const base = parts.pop();
  const folder = parts.length > 2 ? `…/${parts.slice(-1)[0]}/` : `${parts.join('/')}${parts.length > 0 ? '/' : ''}`;
  return h(
    'span',
    { class: 'place', title: whereText({ file, line }) },
    h('span', { class: 'folder' }, folder),
    h('span', { class: 'base' }, line > 0 ? `${base}:${line}` : base),
  );
}

function frameItem(frame) {
  const known = frame.file !== '' && frame.file !== '??';
  return h(
    'li',
    { class: 'frame', 'data-kind': frame.kind },
    h('span', { class: 'function', title: frame.name }, frame.name),
    known && place(frame),
    known && frame.line > 0 && frame.kind !== 'cpp' && copyPlaceButton(frame),
  );
}

function fold(run) {
  const words = run.length === 1 ? '1 library frame' : `${run.length} library frames`;
  const item = h('li', { class: 'fold' });
  const button = h('button', { type: 'button', class: 'link', onclick: () => item.replaceWith(...run.map(frameItem)) }, `… ${words}`);
  item.append(button);
  return item;
}

function runs(frames) {
  const result = [];
  for (const frame of frames) {
    const last = result[result.length - 1];
    if (last && (last[0].kind === 'user') === (frame.kind === 'user')) {
      last.push(frame);
    } else {
      result.push([frame]);
    }
  }
  return result;
}
