/** Many runs as a table that can be sorted; each opens in full. */
import { colourOf, swatch } from './bar.js';
import { fill, h } from './dom.js';
import { bytes, bytesText, countText } from './format.js';
import { icon } from './icons.js';

/** The columns with what they are sorted by; the order given is that of the names. */
const COLUMNS = [
  { name: 'File', key: ({ place }) => place },
  { name: 'Peak', key: (row) => row.peak_bytes, className: 'number' },
  { name: 'What it consists of', key: null },
  { name: 'Reserved', key: (row) => row.reserved_bytes, className: 'number' },
  { name: 'Steps', key: (row) => row.steps, className: 'number' },
  { name: 'At its fullest in', key: (row) => row.place_label },
  { name: 'Cause', key: (row) => row.cause },
  { name: null, key: null },
];

/**
 * @param {object} ranks
 * @param {object[]} files of the comparison, in the order of the rows
 * @param {{open: (name: string) => void}} on
 */
export function ranksView({ noun, rows, top_bytes: top, spread }, files, on) {
  const numbered = rows.map((row, place) => ({ ...row, place, place_label: row.place, isSummary: files[place].is_summary }));
  const elements = new Map(numbered.map((row) => [row.place, rowOf(row, top, on)]));
  const body = h('tbody', {});
  const heads = COLUMNS.map(headOf);
  let sorted = { column: 0, isDescending: false };

  function headOf({ name, key, className }, column) {
    if (key === null) {
      return h('th', { scope: 'col' }, name === null ? h('span', { class: 'unseen' }, 'In full') : name);
    }
    return h('th', { scope: 'col', class: className }, h('button', { type: 'button', class: 'sorter', onclick: () => sort(column) }, name, icon('chevron')));
  }

  function sort(column) {
    // Numbers are of interest from the largest on.
    const first = COLUMNS[column].className === 'number';
    sorted = { column, isDescending: sorted.column === column ? !sorted.isDescending : first };
    show();
  }

  function show() {
    const { column, isDescending } = sorted;
    const { key } = COLUMNS[column];
    const order = numbered.toSorted((one, other) => {
      const [a, b] = isDescending ? [other, one] : [one, other];
      return typeof key(a) === 'string' ? key(a).localeCompare(key(b)) : key(a) - key(b);
    });
    fill(body, order.map(({ place }) => elements.get(place)));
    heads.forEach((head, place) => {
      if (place === column) {
        head.setAttribute('aria-sort', isDescending ? 'descending' : 'ascending');
      } else {
        head.removeAttribute('aria-sort');
      }
    });
  }

  show();
  return h(
    'section',
    { class: 'card', 'data-test': 'ranks', 'aria-labelledby': 'ranks' },
    h('h2', { id: 'ranks' }, `All ${countText(rows.length)} ${noun}`),
    h('p', { class: 'quiet' }, spread),
    legend(rows),
    h('div', { class: 'scroller', tabindex: '0', role: 'region', 'aria-label': `All ${noun}` }, h('table', { class: 'ranks' }, h('thead', {}, h('tr', {}, heads)), body)),
  );
}

function rowOf(row, top, on) {
  const { name, peak_bytes: peak, parts, reserved_bytes: reserved, steps, place_label: place, cause, ran_out: ranOut, stands_out: standsOut, isSummary } = row;
  return h(
    'tr',
    { class: standsOut ? 'stands-out' : null },
    h('th', { scope: 'row' }, h('span', { class: 'rank-name', title: name }, name), standsOut && h('span', { class: 'tag outlier' }, 'stands out')),
    h('td', { class: 'number' }, bytes(peak)),
    h('td', { class: 'composition' }, composition(parts, top)),
    h('td', { class: 'number' }, bytes(reserved)),
    h('td', { class: 'number' }, countText(steps)),
    h('td', {}, place),
    h('td', {}, ranOut && [h('strong', { class: 'ran-out' }, 'ran out of memory'), ': '], cause),
    h('td', { class: 'number' }, isSummary ? h('span', { class: 'quiet' }, 'a summary') : h('button', { type: 'button', class: 'link', 'aria-label': `Open ${name} in full`, onclick: () => on.open(name) }, 'Open')),
  );
}

/** As long as its share of the largest peak. */
function composition(parts, top) {
  const total = parts.reduce((sum, part) => sum + part.bytes, 0);
  const words = parts.map(({ label, bytes: size }) => `${label} ${bytesText(size)}`).join(', ');
  return h(
    'span',
    { class: 'rank-bar', role: 'img', 'aria-label': words, title: words, vars: { '--share': top > 0 ? total / top : 0 } },
    parts.map(({ key, bytes: size }) => h('span', { class: 'bar-part', vars: { '--share': total > 0 ? size / total : 0, '--colour': colourOf(key) } })),
  );
}

function legend(rows) {
  const labels = new Map(rows.flatMap(({ parts }) => parts.map(({ key, label }) => [key, label])));
  return h('div', { class: 'legend', 'aria-hidden': 'true' }, [...labels].map(([key, label]) => h('span', { class: 'key' }, swatch(key), label)));
}
