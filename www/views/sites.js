/** A call site as a row of a table that opens to its callers. */
import { swatch } from './bar.js';
import { h } from './dom.js';
import { copyPlaceButton } from './folders.js';
import { icon } from './icons.js';
import { place, stackView } from './stack.js';

/**
 * The row, and the one below that holds the callers.
 *
 * @param {{frames: object[], category: string, category_label: string}} site
 * @param {string} id of the row below
 * @param {HTMLElement[]} cells behind the line and its category
 */
export function siteRows({ frames, category, category_label: label }, id, cells) {
  const innermost = frames[0] ?? { name: 'recorded without a stack', file: '', line: 0 };
  const below = h('tr', { class: 'stack-row', id, hidden: true }, h('td', { colspan: String(cells.length + 2) }));
  const where = h('span', { class: 'where' }, place(innermost), innermost.file !== '' && h('span', { class: 'function', title: innermost.name }, innermost.name));
  const hasCallers = frames.length > 1;
  const line = hasCallers ? h('button', { type: 'button', class: 'expander', 'aria-expanded': 'false', 'aria-controls': id }, icon('chevron'), where) : h('span', { class: 'expander' }, h('span', { class: 'no-chevron' }), where);
  if (hasCallers) {
    line.addEventListener('click', () => {
      const open = below.hidden;
      if (open && below.firstChild.childElementCount === 0) {
        // A call site has frames of the program's own only.
        below.firstChild.append(stackView(frames.map((frame) => ({ ...frame, kind: 'user' }))));
      }
      below.hidden = !open;
      line.setAttribute('aria-expanded', String(open));
    });
  }
  return [
    h(
      'tr',
      {},
      h('td', { class: 'line-cell' }, h('div', { class: 'line-place' }, line, innermost.file !== '' && copyPlaceButton(innermost))),
      h('td', { class: 'category' }, swatch(category), label),
      cells,
    ),
    below,
  ];
}
