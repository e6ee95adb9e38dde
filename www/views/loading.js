/** What is shown while a file is fetched, read and analysed. */
import { h } from './dom.js';
import { bytesText } from './format.js';

/** @param {{cancel: () => void}} on */
export function loadingView(on) {
  const name = h('h1', { class: 'file-name' });
  const bar = h('progress', { class: 'progress', max: '1', 'data-test': 'progress', 'aria-label': 'Reading the file' });
  const words = h('p', { class: 'progress-words' });
  const cancel = h('button', { type: 'button', class: 'button', 'data-test': 'cancel', onclick: on.cancel }, 'Cancel');
  const root = h('main', { class: 'loading' }, h('div', { class: 'card loading-card' }, name, bar, words, cancel));

  return {
    root,
    update({ loading }, changed) {
      if (!changed.has('loading') || loading === null) {
        return;
      }
      name.textContent = loading.name;
      name.title = loading.name;
      const { verb, done, total } = loading;
      const arrived = total !== null && done >= total && total > 0;
      if (total === null || total === 0 || arrived) {
        bar.removeAttribute('value');
      } else {
        bar.value = done / total;
      }
      words.textContent = arrived && verb === 'reading' ? 'Working out what happened …' : told(loading);
    },
    focus() {
      cancel.focus({ preventScroll: true });
    },
  };
}

const DOING = { starting: 'Starting', fetching: 'Fetching', reading: 'Reading' };

function told({ verb, done, total }) {
  const doing = DOING[verb];
  if (total === null) {
    return done > 0 ? `${doing}: ${bytesText(done)}` : `${doing} …`;
  }
  const share = total > 0 ? Math.floor((100 * done) / total) : 0;
  return `${doing}: ${bytesText(done)} of ${bytesText(total)}, ${share} %`;
}
