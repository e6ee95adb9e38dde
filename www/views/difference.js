/** What two runs differ by: by category, by call site, by phase. All parts sum to the whole. */
import { signedText } from '#wasm';
import { colourOf, swatch } from './bar.js';
import { h } from './dom.js';
import { bytes, countText } from './format.js';
import { moreRows } from './more.js';
import { siteRows } from './sites.js';

/** Call sites shown before the rest is asked for. */
const FIRST = 10;

/** @param {string | null} title where the two are picked from many */
export function categoriesView(difference, title) {
  const { a, b, categories, total, reserved } = difference;
  const widest = Math.max(1, ...categories.map(({ difference_bytes: change }) => Math.abs(change)));
  return h(
    'section',
    { class: 'card', 'data-test': 'categories', 'aria-labelledby': 'categories' },
    h('h2', { id: 'categories' }, title ?? 'What differs'),
    h('p', { class: 'quiet' }, `${difference.title}, by what it is for.`),
    h(
      'div',
      { class: 'scroller' },
      h(
        'table',
        { class: 'differences' },
        h('thead', {}, h('tr', {}, h('th', { scope: 'col' }, 'Category'), number(a), number(b), number('Difference'), h('th', { scope: 'col', class: 'diverging-head' }, h('span', { class: 'unseen' }, 'As a bar')))),
        h('tbody', {}, categories.map((row) => partRow(row, [swatch(row.key), row.label], diverging(row, widest)))),
        h('tfoot', {}, partRow(total, 'in all', null, 'sum'), partRow(reserved, reserved.label, null, 'beside')),
      ),
    ),
  );
}

export function sitesView(difference) {
  const { a, b, sites, other_sites: others, total } = difference;
  if (sites.length === 0) {
    return null;
  }
  const rows = sites.map((site, place) =>
    siteRows(site, `site-${place}`, [
      h('td', { class: 'number blocks' }, `${countText(site.a_count)} → ${countText(site.b_count)}`),
      h('td', { class: 'number side' }, bytes(site.a_bytes)),
      h('td', { class: 'number side' }, bytes(site.b_bytes)),
      h('td', { class: 'number change-cell' }, signed(site.difference_bytes)),
    ]),
  );
  const body = h('tbody', {});
  const more = moreRows(body, rows, FIRST);
  return h(
    'section',
    { class: 'card', 'data-test': 'sites', 'aria-labelledby': 'sites' },
    h('h2', { id: 'sites' }, 'Lines that differ'),
    h('p', { class: 'quiet' }, 'By the innermost line of your own code, the largest difference first. Open a row for its callers.'),
    h(
      'div',
      { class: 'scroller' },
      h(
        'table',
        { class: 'lines sites' },
        h('thead', {}, h('tr', {}, h('th', { scope: 'col' }, 'Line'), h('th', { scope: 'col' }, 'Category'), number('Blocks'), number(a), number(b), number('Difference'))),
        body,
        h('tfoot', {}, others && siteSum(others, others.label, 'beside'), siteSum(total, 'in all', 'sum')),
      ),
    ),
    more,
  );
}

export function phasesView({ a, b, phases }) {
  if (phases.length === 0) {
    return null;
  }
  return h(
    'section',
    { class: 'card', 'aria-labelledby': 'phases' },
    h('h2', { id: 'phases' }, 'When'),
    h('p', { class: 'quiet' }, 'The most that was allocated in each phase of the program.'),
    h(
      'div',
      { class: 'scroller' },
      h('table', { class: 'differences' }, h('thead', {}, h('tr', {}, h('th', { scope: 'col' }, 'Phase'), number(a), number(b), number('Difference'))), h('tbody', {}, phases.map((row) => partRow(row, row.label)))),
    ),
  );
}

/** A change with its sign, the exact number on demand. */
export function signed(change) {
  return h('span', { class: 'bytes', title: `${change < 0 ? '−' : ''}${countText(Math.abs(change))} bytes` }, signedText(change));
}

function number(name) {
  return h('th', { scope: 'col', class: 'number' }, h('span', { class: 'run-name', title: name }, name));
}

function partRow({ a_bytes: before, b_bytes: after, difference_bytes: change }, label, bar = null, className = null) {
  return h(
    'tr',
    { class: className },
    h('th', { scope: 'row' }, label),
    h('td', { class: 'number' }, bytes(before)),
    h('td', { class: 'number' }, bytes(after)),
    h('td', { class: 'number change-cell' }, signed(change)),
    bar && h('td', { class: 'diverging-cell' }, bar),
  );
}

function siteSum({ a_bytes: before, b_bytes: after, difference_bytes: change }, label, className) {
  return h(
    'tr',
    { class: className },
    h('th', { scope: 'row', colspan: '3' }, label),
    h('td', { class: 'number side' }, bytes(before)),
    h('td', { class: 'number side' }, bytes(after)),
    h('td', { class: 'number change-cell' }, signed(change)),
  );
}

/** To the left what became less, to the right what became more. */
function diverging({ key, difference_bytes: change }, widest) {
  return h('span', { class: 'diverging', 'aria-hidden': 'true' }, change !== 0 && h('span', { class: change < 0 ? 'less' : 'more-bytes', vars: { '--share': Math.abs(change) / widest, '--colour': colourOf(key) } }));
}
