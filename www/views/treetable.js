/** The stacks as a table, for those who do not see the icicle; filled while it is open. */
import { fill, h } from './dom.js';
import { bytes, countText, percent } from './format.js';
import { icon } from './icons.js';

export function treeTableView() {
  const table = h('table', { class: 'totals' });
  const root = h('details', { class: 'twin' }, h('summary', {}, icon('chevron'), 'The same as a table'), h('div', { class: 'scroller', tabindex: '0', role: 'region', 'aria-label': 'Stacks as a table' }, table));
  let rows = [];

  function refill() {
    if (root.open) {
      const head = ['Frame', 'Allocations', 'Bytes', 'Share'];
      fill(
        table,
        h('caption', {}, 'Frames with at least a hundredth of the bytes, nested as in the picture'),
        h('thead', {}, h('tr', {}, head.map((name, at) => h('th', { scope: 'col', class: at > 0 ? 'number' : null }, name)))),
        h('tbody', {}, rows.map(row)),
      );
    }
  }
  root.addEventListener('toggle', refill);

  return {
    root,
    show(next) {
      rows = next;
      refill();
    },
  };
}

function row({ depth, name, place, bytes: held, count, share }) {
  return h(
    'tr',
    {},
    h('th', { scope: 'row', class: 'tree-cell', vars: { '--depth': depth } }, name, place !== '' && h('span', { class: 'place quiet' }, place)),
    h('td', { class: 'number' }, countText(count)),
    h('td', { class: 'number' }, bytes(held)),
    h('td', { class: 'number' }, percent(share, 1)),
  );
}
