/** What is shown while files are read for a comparison: all of them, and those in hand. */
import { fill, h } from './dom.js';
import { bytesText, countText } from './format.js';

/** @param {{cancel: () => void}} on */
export function comparingView(on) {
  const bar = h('progress', { class: 'progress', max: '1', 'data-test': 'progress', 'aria-label': 'Reading the files' });
  const words = h('p', { class: 'progress-words' });
  const now = h('ul', { class: 'reading-now' });
  const cancel = h('button', { type: 'button', class: 'button', 'data-test': 'cancel', onclick: on.cancel }, 'Cancel');
  const root = h('main', { class: 'loading' }, h('div', { class: 'card loading-card' }, h('h1', {}, 'Comparing'), bar, words, now, cancel));

  return {
    root,
    update({ comparing }, changed) {
      if (!changed.has('comparing') || comparing === null) {
        return;
      }
      const { files, read, done, total, now: reading } = comparing;
      if (total === 0 || read === files) {
        bar.removeAttribute('value');
      } else {
        bar.value = done / total;
      }
      words.textContent = wordsOf(comparing);
      fill(now, reading.map(fileItem));
    },
    focus() {
      cancel.focus({ preventScroll: true });
    },
  };
}

function wordsOf({ files, read, done, total }) {
  if (total === 0) {
    return 'Starting …';
  }
  return read === files ? 'Working out what differs …' : `${countText(read)} of ${countText(files)} files read, ${bytesText(done)} of ${bytesText(total)}`;
}

function fileItem({ name, done, total }) {
  return h('li', {}, h('span', { class: 'file-name', title: name }, name), h('progress', { class: 'progress', max: '1', value: String(total > 0 ? done / total : 0), 'aria-label': `Reading ${name}` }));
}
