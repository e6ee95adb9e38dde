/** What went wrong last, in one sentence, until it is dismissed. */
import { fill, h } from './dom.js';
import { icon } from './icons.js';

/** @param {() => void} dismiss */
export function errorView(dismiss) {
  const root = h('div', { class: 'error', role: 'alert' });
  return {
    root,
    update({ error }, changed) {
      if (changed.has('error')) {
        root.hidden = error === null;
        fill(
          root,
          error !== null && [
            h('p', { 'data-test': 'error' }, error),
            h('button', { type: 'button', class: 'icon-button', title: 'Dismiss', 'aria-label': 'Dismiss', onclick: dismiss }, icon('close')),
          ],
        );
      }
    },
  };
}
