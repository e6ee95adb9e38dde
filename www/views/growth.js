/** Moments of one run: what is allocated at each, and what holds more at the last than at the first. */
import { h } from './dom.js';
import { bytes, countText } from './format.js';
import { siteRows } from './sites.js';

export function growthView(growth) {
  const { moments, rows, hidden } = growth;
  const most = Math.max(1, ...moments.map(([, allocated]) => allocated));
  return h(
    'section',
    { class: 'card', 'data-test': 'growth', 'aria-labelledby': 'growth' },
    h('h2', { id: 'growth' }, 'What holds more'),
    h('p', { class: 'quiet' }, 'Allocated at the end of each file, the earliest first.'),
    h(
      'table',
      { class: 'moments' },
      h('tbody', {}, moments.map(([name, allocated]) => h('tr', {}, h('th', { scope: 'row' }, name), h('td', { class: 'number' }, bytes(allocated)), h('td', { class: 'moment-bar' }, h('span', { class: 'share-bar wide', 'aria-hidden': 'true', vars: { '--share': allocated / most, '--colour': 'var(--accent)' } }))))),
    ),
    rows.length === 0 ? h('p', { class: 'quiet' }, 'No line holds more at the last than at the first.') : table(growth),
    hidden > 0 && h('p', { class: 'quiet' }, `${countText(hidden)} lines more grow by less.`),
  );
}

function table({ rows, is_confirmed: isConfirmed, has_rate: hasRate }) {
  const head = ['Line', 'Category', 'Blocks', 'Holds more', hasRate && 'Each step', isConfirmed && 'Kept for sure'].filter(Boolean);
  return h(
    'div',
    { class: 'scroller' },
    h(
      'table',
      { class: 'lines sites' },
      h('thead', {}, h('tr', {}, head.map((name, place) => h('th', { scope: 'col', class: place > 1 ? 'number' : null }, name)))),
      h('tbody', {}, rows.map((row, place) => rowOf(row, `growing-${place}`, isConfirmed, hasRate))),
    ),
  );
}

function rowOf(row, id, isConfirmed, hasRate) {
  const { stack, count, bytes: more, per_step_bytes: rate, confirmed_bytes: confirmed } = row;
  const kept = confirmed > 0 ? [h('span', { class: 'tag leak' }, 'leak'), ' ', bytes(confirmed)] : 'nothing';
  return siteRows({ ...row, frames: stack }, id, [
    h('td', { class: 'number blocks' }, count > 0 ? `+${countText(count)}` : count < 0 ? `−${countText(-count)}` : '0'),
    h('td', { class: 'number change-cell' }, bytes(more)),
    hasRate && h('td', { class: 'number' }, rate === null ? '' : bytes(rate)),
    isConfirmed && h('td', { class: 'number' }, kept),
  ].filter(Boolean));
}
