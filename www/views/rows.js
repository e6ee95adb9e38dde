/**
 * A table of any number of rows, of which only those in sight exist. It asks for them by number.
 *
 * One column of rows can be taller than browsers lay out, so the scrollbar stands for a share of
 * the rows, and those in sight are laid over it.
 */
import { Latest } from '../latest.js';
import { fill, h, oncePerFrame, setVars } from './dom.js';
import { icon } from './icons.js';

/** As rows.css and, for fingers, touch.css have them. */
const isTouched = matchMedia('(pointer: coarse)').matches;
const ROW_PX = isTouched ? 40 : 30;
const HEAD_PX = isTouched ? 42 : 34;
/** Rows in sight at most. */
const SEEN = isTouched ? 10 : 14;
/** Rows asked for above and below those in sight. */
const AHEAD = 60;
/** Firefox lays out no element that is taller than some 17 million pixels. */
const TALLEST_PX = 8e6;

let grids = 0;

/**
 * @typedef {object} Column
 * @property {string} label
 * @property {string} width as a track of a CSS grid
 * @property {number} from CSS pixels of the table from which on it is shown
 * @property {string} [className] of its cells
 * @property {string} [sort] its name to sort by
 * @property {string} [title]
 * @property {(row: object) => any} cell what stands in it
 *
 * @param {string} label of the table
 * @param {Column[]} columns
 * @param {object} on
 * @param {(from: number, to: number) => Promise<object[]>} on.rows
 * @param {(row: object, place: number) => void} on.choose
 * @param {(row: object) => boolean} on.isChosen
 * @param {(sort: string) => void} [on.sort]
 * @param {(error: Error) => void} on.failed
 * @param {AbortSignal} signal
 */
export function rowsView(label, columns, on, signal) {
  const id = `rows-${++grids}`;
  const head = h('div', { role: 'row', class: 'rows-head' });
  const lines = h('div', { class: 'rows-lines', role: 'presentation' });
  const inSight = h('div', { class: 'rows-window', role: 'rowgroup' }, lines);
  const space = h('div', { class: 'rows-space', role: 'presentation' }, inSight);
  const root = h('div', { class: 'rows', role: 'grid', tabindex: '0', 'aria-label': label, 'data-test': 'rows' }, h('div', { role: 'rowgroup', class: 'rows-top' }, head), space);

  let count = 0;
  let generation = 0;
  let order = { sort: null, descending: false };
  /** Rows at hand, from the place of the first. */
  let held = { from: 0, rows: [] };
  let current = 0;
  let shown = [];
  let without = new Set();

  const fetch = new Latest(
    (wanted) => on.rows(wanted.from, wanted.to),
    (rows, wanted) => {
      if (wanted.generation === generation) {
        held = { from: wanted.from, rows };
        draw();
      }
    },
    on.failed,
  );

  const sightPx = () => Math.min(count, SEEN) * ROW_PX;
  const wholePx = () => count * ROW_PX;
  const spacePx = () => Math.min(wholePx(), TALLEST_PX);
  /** Pixels of the rows above those in sight, for pixels scrolled, and back. */
  const fromScroll = (scrolled) => (spacePx() <= sightPx() ? 0 : (Math.min(scrolled, spacePx() - sightPx()) / (spacePx() - sightPx())) * (wholePx() - sightPx()));
  const toScroll = (above) => (wholePx() <= sightPx() ? 0 : (above / (wholePx() - sightPx())) * (spacePx() - sightPx()));

  function layOut() {
    const width = root.clientWidth;
    if (width === 0) {
      return;
    }
    const next = columns.filter((column) => column.from <= width && !without.has(column.label));
    if (next.length !== shown.length || next.some((column, at) => column !== shown[at])) {
      shown = next;
      setVars(root, { '--columns': shown.map((column) => column.width).join(' ') });
      root.setAttribute('aria-colcount', String(shown.length));
      drawHead();
    }
    draw();
  }

  function drawHead() {
    fill(head, shown.map(headCell));
  }

  function headCell({ label: words, sort, title, className }) {
    if (sort === undefined) {
      return h('div', { role: 'columnheader', class: className, title }, words);
    }
    const isSorted = order.sort === sort;
    const direction = isSorted ? (order.descending ? 'descending' : 'ascending') : null;
    const arrow = isSorted && h('span', { class: `sorted ${direction}` }, icon('chevron'));
    return h('div', { role: 'columnheader', class: className, 'aria-sort': direction ?? 'none', title }, h('button', { type: 'button', 'data-sort': sort, onclick: () => on.sort(sort) }, words, arrow));
  }

  const draw = oncePerFrame(() => {
    if (shown.length === 0) {
      return;
    }
    const above = fromScroll(root.scrollTop);
    const first = Math.floor(above / ROW_PX);
    const end = Math.min(first + SEEN + 1, count);
    lines.style.transform = `translateY(${first * ROW_PX - above}px)`;
    const rows = [];
    for (let place = first; place < end; place += 1) {
      rows.push(line(held.rows[place - held.from], place));
    }
    fill(lines, rows);
    root.setAttribute('aria-activedescendant', `${id}-${current}`);
    root.dataset.first = first;
    const isHeld = held.from <= first && end <= held.from + held.rows.length;
    if (!isHeld && count > 0) {
      fetch.want({ from: Math.max(first - AHEAD, 0), to: Math.min(end + AHEAD, count), generation });
    }
  });

  function line(row, place) {
    const cells = shown.map((column) => h('div', { role: 'gridcell', class: column.className }, row === undefined ? '' : column.cell(row)));
    const isChosen = row !== undefined && on.isChosen(row);
    const names = `rows-line${isChosen ? ' picked' : ''}${place === current ? ' current' : ''}`;
    return h('div', { role: 'row', id: `${id}-${place}`, class: names, 'aria-rowindex': place + 2, 'aria-selected': String(isChosen), onclick: () => choose(place) }, cells);
  }

  function goTo(place) {
    current = Math.min(Math.max(place, 0), count - 1);
    const above = fromScroll(root.scrollTop);
    const top = current * ROW_PX;
    if (top < above) {
      root.scrollTop = toScroll(top);
    } else if (top + ROW_PX > above + sightPx()) {
      root.scrollTop = Math.ceil(toScroll(top + ROW_PX - sightPx()));
    }
    draw();
  }

  async function choose(place) {
    goTo(place);
    const asked = generation;
    try {
      const row = held.rows[place - held.from] ?? (await on.rows(place, place + 1))[0];
      if (row !== undefined && asked === generation) {
        on.choose(row, place);
        draw();
      }
    } catch (error) {
      on.failed(error);
    }
  }

  const KEYS = {
    ArrowDown: () => goTo(current + 1),
    ArrowUp: () => goTo(current - 1),
    PageDown: () => goTo(current + SEEN - 1),
    PageUp: () => goTo(current - SEEN + 1),
    Home: () => goTo(0),
    End: () => goTo(count - 1),
    Enter: () => choose(current),
    ' ': () => choose(current),
  };
  root.addEventListener('keydown', (event) => {
    const act = event.target !== root || event.altKey || event.ctrlKey || event.metaKey ? undefined : KEYS[event.key];
    if (act && count > 0) {
      event.preventDefault();
      event.stopPropagation();
      act();
    }
  });
  root.addEventListener('scroll', draw, { passive: true });
  const sizes = new ResizeObserver(layOut);
  sizes.observe(root);
  signal.addEventListener('abort', () => sizes.disconnect());

  return {
    root,
    /** Shows a table anew; `missing` are labels of columns that this one does not have. */
    show(rows, missing = [], by = order) {
      count = rows;
      generation += 1;
      held = { from: 0, rows: [] };
      current = 0;
      order = by;
      without = new Set(missing);
      shown = [];
      root.scrollTop = 0;
      root.hidden = count === 0;
      root.style.height = `${HEAD_PX + sightPx() + 2}px`;
      space.style.height = `${spacePx()}px`;
      inSight.style.height = `${sightPx()}px`;
      root.setAttribute('aria-rowcount', String(count + 1));
      root.dataset.count = count;
      layOut();
    },
    choose,
    redraw: draw,
  };
}
