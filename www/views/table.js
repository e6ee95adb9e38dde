/** The timeline as a table, for those who do not see it; filled while it is open. */
import { fill, h } from './dom.js';
import { bytes, countText } from './format.js';
import { icon } from './icons.js';

const ROWS = 16;

/** @param {import('#wasm').Painter} painter */
export function tableView(painter) {
  const table = h('table', { class: 'totals' });
  const root = h('details', { class: 'twin' }, h('summary', {}, icon('chevron'), 'The same as a table'), h('div', { class: 'scroller', tabindex: '0', role: 'region', 'aria-label': 'Timeline as a table' }, table));
  let shown = null;
  let filled = null;

  function refill() {
    if (root.open && shown !== null && shown !== filled) {
      filled = shown;
      const bands = shown.view.bands;
      const head = ['Entries', ...bands.map((band) => band.label), 'allocated', 'reserved'];
      fill(
        table,
        h('caption', {}, 'Bytes at the fullest moment of each stretch'),
        h('thead', {}, h('tr', {}, head.map((name, place) => h('th', { scope: 'col', class: place > 0 ? 'number' : null }, name)))),
        h('tbody', {}, painter.tableRows(shown, ROWS).map(row)),
      );
    }
  }
  root.addEventListener('toggle', refill);

  return {
    root,
    update(state, changed) {
      if (changed.has('shown')) {
        shown = state.shown;
        refill();
      }
    },
  };
}

function row({ begin, end, band_bytes: bands, allocated_bytes: allocated, reserved_bytes: reserved }) {
  return h(
    'tr',
    {},
    h('th', { scope: 'row' }, `${countText(begin)}–${countText(end - 1)}`),
    [...bands, allocated, reserved].map((count) => h('td', { class: 'number' }, bytes(count))),
  );
}
