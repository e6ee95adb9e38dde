/** The start screen: where a file is dropped, and how to get one. */
import { code } from './code.js';
import { h, fill } from './dom.js';
import { icon } from './icons.js';

/** @param {{browse: () => void, sample: () => void}} on */
export function startView(on) {
  const sample = h('button', { type: 'button', class: 'button', 'data-test': 'sample', onclick: on.sample }, 'Try the sample');
  const browse = h('button', { type: 'button', class: 'button primary', onclick: on.browse }, 'Choose a file');
  const snippet = h('div', {});
  const record = h(
    'details',
    { class: 'record' },
    h('summary', {}, icon('chevron'), 'How to record a snapshot'),
    h('p', {}, 'Add these lines before the model is built, run until memory runs out, and drop the file that they write here.'),
    snippet,
  );
  const root = h(
    'main',
    { class: 'start' },
    h('h1', {}, 'Why did the GPU run out of memory?'),
    h('p', { class: 'lead' }, 'Open a PyTorch CUDA memory snapshot and read what filled the memory, which lines of your code did it, and what would help.'),
    h(
      'div',
      { class: 'drop', 'data-test': 'drop' },
      h('div', { class: 'drop-icon' }, icon('drop')),
      h('p', { class: 'drop-title' }, 'Drop a snapshot here'),
      h(
        'div',
        { class: 'row' },
        browse,
      ),
      h('p', { class: 'forms' }, '.pickle, also packed as .gz, .xz, .zst or .zip; pages saved from PyTorch’s viewer; JSON'),
    ),
    h('p', { class: 'private' }, 'Nothing leaves this machine: the file is read inside this page, and no server sees it.'),
    record,
  );

  return {
    root,
    setSample(present) {
      if (present) {
        browse.after(sample);
      } else {
        sample.remove();
      }
    },
    update(state, changed) {
      if (changed.has('recordCode') && state.recordCode !== null) {
        fill(snippet, code(state.recordCode));
      }
    },
    focus() {
      browse.focus({ preventScroll: true });
    },
  };
}
