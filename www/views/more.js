/** A table's rows of which the first are shown; a button below the table shows the rest. */
import { h } from './dom.js';

/**
 * @param {HTMLElement} body of the table
 * @param {HTMLElement[][]} rows each with whatever belongs below it
 * @param {number} first shown at once
 * @returns {HTMLElement | false} the button; false where nothing is left to show
 */
export function moreRows(body, rows, first) {
  body.append(...rows.slice(0, first).flat());
  const rest = rows.slice(first);
  const more = h('button', { type: 'button', class: 'button more' }, `Show ${rest.length} more`);
  more.addEventListener('click', () => {
    body.append(...rest.flat());
    rest[0][0].querySelector('button').focus();
    more.remove();
  });
  return rest.length > 0 && more;
}
