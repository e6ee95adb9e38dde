/** A sheet over the page, with a title and a button that closes it. */
import { h } from './dom.js';
import { icon } from './icons.js';

/** @param {string} name of the sheet, unique in its element */
export function sheetView(name, title, ...content) {
  const close = h('button', { type: 'button', class: 'icon-button', title: 'Close', 'aria-label': 'Close', onclick: () => root.close() }, icon('close'));
  const root = h(
    'dialog',
    { class: 'sheet', 'data-test': name, 'aria-labelledby': `${name}-title` },
    h('div', { class: 'sheet-top' }, h('h2', { id: `${name}-title` }, title), h('span', { class: 'space' }), close),
    content,
  );
  // A click beside the sheet closes it.
  root.addEventListener('click', (event) => event.target === root && root.close());
  return { root, open: () => root.showModal() };
}
