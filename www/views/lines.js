/** The user's own lines, most bytes first; each opens to its stack. */
import { colourOf, swatch } from './bar.js';
import { h } from './dom.js';
import { copyPlaceButton } from './folders.js';
import { bytes, countText, percent } from './format.js';
import { icon } from './icons.js';
import { moreRows } from './more.js';
import { place, stackView } from './stack.js';

/** Rows shown before the rest is asked for. */
const FIRST = 10;

/**
 * @param {object[]} lines of the report's diagnosis
 * @param {(category: string) => string} labelOf
 * @param {'oom' | 'peak' | 'end'} moment
 */
export function linesView(lines, labelOf, moment) {
  const moments = { oom: 'when the request failed', peak: 'at the peak', end: 'when the file was written' };
  const body = h('tbody', {});
  const rows = lines.map((line, place) => row(line, `stack-${place}`, labelOf));
  const more = moreRows(body, rows, FIRST);
  return h(
    'section',
    { class: 'card', 'data-test': 'lines', 'aria-labelledby': 'lines' },
    h('h2', { id: 'lines' }, 'Lines that hold memory'),
    h('p', { class: 'quiet' }, `What was allocated ${moments[moment]}, by the innermost line of your own code. Open a row for its stack.`),
    lines.length === 0
      ? h('p', { class: 'quiet' }, 'Nothing was allocated at this moment.')
      : h(
          'table',
          { class: 'lines' },
          h('thead', {}, h('tr', {}, ['Line', 'Category', 'Blocks', 'Bytes', 'Share'].map((name, place) => h('th', { scope: 'col', class: place > 1 ? 'number' : null }, name)))),
          body,
        ),
    more,
  );
}

/** The row, and the one below that holds its stack. */
function row(line, id, labelOf) {
  const stack = h('td', { colspan: '5' });
  const below = h('tr', { class: 'stack-row', id, hidden: true }, stack);
  const button = h(
    'button',
    { type: 'button', class: 'expander', 'aria-expanded': 'false', 'aria-controls': id },
    icon('chevron'),
    h('span', { class: 'where' }, place({ ...line, name: line.function }), line.file !== '' && h('span', { class: 'function', title: line.function }, line.function)),
  );
  button.addEventListener('click', () => {
    const open = below.hidden;
    if (open && stack.childElementCount === 0) {
      stack.append(stackView(line.frames));
    }
    below.hidden = !open;
    button.setAttribute('aria-expanded', String(open));
  });
  const category = labelOf(line.category);
  return [
    h(
      'tr',
      {},
      h('td', { class: 'line-cell' }, h('div', { class: 'line-place' }, button, line.file !== '' && copyPlaceButton(line))),
      h('td', { class: 'category' }, swatch(line.category), category),
      h('td', { class: 'number blocks' }, countText(line.count)),
      h('td', { class: 'number' }, bytes(line.bytes)),
      h('td', { class: 'number share' }, h('span', { class: 'share-bar', 'aria-hidden': 'true', vars: { '--share': line.share, '--colour': colourOf(line.category) } }), h('span', { class: 'share-number' }, percent(line.share, 1))),
    ),
    below,
  ];
}
