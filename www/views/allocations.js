/** The allocations of the selection as a table: filtered, sorted, read out and saved. */
import { SELECTING, selectionOf } from '../state.js';
import { Latest } from '../latest.js';
import { filtersView } from './filters.js';
import { swatch } from './bar.js';
import { fill, h } from './dom.js';
import { copyPlaceButton, whereText } from './folders.js';
import { bytes, bytesText, countText, duration } from './format.js';
import { rowsView } from './rows.js';
import { saveBlob } from './save.js';
import { place, stackView } from './stack.js';

const TIME = 'Time';
const STREAM = 'Stream';
const POOL = 'Pool';

/** Columns that begin with what is most of all are sorted from the greatest down at first. */
const GREATEST_FIRST = ['size', 'requested', 'lifetime', 'time'];

const COLUMNS = [
  { label: 'Size', width: '96px', from: 0, className: 'number size', sort: 'size', cell: (row) => [swatch(row.category), bytes(row.size_bytes)] },
  { label: 'Requested', width: '86px', from: 900, className: 'number', sort: 'requested', cell: (row) => bytes(row.requested_bytes) },
  { label: 'Category', width: '112px', from: 600, sort: 'category', cell: (row) => row.category_label },
  { label: 'Made at', width: '64px', from: 0, className: 'number', sort: 'made', title: 'The entry that made it', cell: (row) => (row.made === null ? h('span', { class: 'quiet' }, 'earlier') : countText(row.made)) },
  { label: 'Freed at', width: '72px', from: 460, className: 'number', sort: 'freed', title: 'The entry at which the program released it', cell: (row) => (row.freed === null ? h('span', { class: 'quiet' }, 'alive') : countText(row.freed)) },
  { label: 'Entries', width: '78px', from: 700, className: 'number', sort: 'lifetime', title: 'How many entries it lives', cell: (row) => `${isOpen(row) ? '≥ ' : ''}${countText(row.lifetime_entries)}` },
  { label: TIME, width: '86px', from: 800, className: 'number', sort: 'time', title: 'How long it lives', cell: (row) => row.lifetime_us !== null && `${isOpen(row) ? '≥ ' : ''}${duration(row.lifetime_us)}` },
  { label: STREAM, width: '70px', from: 980, className: 'handle', sort: 'stream', cell: (row) => h('span', { title: row.stream }, row.stream) },
  { label: POOL, width: '60px', from: 860, sort: 'pool', cell: (row) => h('span', { title: row.pool }, row.pool) },
  { label: 'Line', width: 'minmax(0, 1fr)', from: 0, className: 'line', sort: 'place', cell: (row) => where(row) },
];

/**
 * @param {object} on
 * @param {(kind: string, payload: object) => Promise<any>} on.ask the worker
 * @param {(entry: number) => void} on.show an entry in the timeline
 * @param {AbortSignal} signal
 */
export function allocationsView(on, signal) {
  let order = { sort: 'size', descending: true };
  let state = null;
  let isStale = true;
  let head = null;
  let chosen = null;

  const filters = filtersView(() => load(), signal);
  const total = h('p', { class: 'total', 'data-test': 'allocations-total', role: 'status' });
  const problem = h('p', { class: 'problem', role: 'alert', hidden: true, 'data-test': 'allocations-problem' });
  const save = h('button', { type: 'button', class: 'button', 'data-test': 'save-csv', onclick: () => saveAll() }, 'Save as CSV');
  const none = h('p', { class: 'quiet', hidden: true });
  const rows = rowsView('Allocations', COLUMNS, { rows: (from, to) => on.ask('allocationRows', { from, to }), choose, isChosen: (row) => row.id === chosen?.id, sort: sortBy, failed }, signal);
  const detail = h('div', { class: 'readout detail', hidden: true, 'data-test': 'allocation' });
  const root = h('div', { class: 'allocations' }, filters.root, h('div', { class: 'panel-top' }, total, h('span', { class: 'space' }), save), problem, none, rows.root, detail);

  const table = new Latest(
    ({ selection, question }) => on.ask('allocations', { selection, question }),
    show,
    failed,
  );

  function load() {
    if (state?.tab === 'allocations') {
      isStale = false;
      table.want({ selection: selectionOf(state), question: { ...filters.question(), ...order } });
    }
  }

  function show(answer) {
    if (answer === null) {
      return;
    }
    head = answer;
    total.textContent = `${head.count === 1 ? 'One allocation' : `${countText(head.count)} allocations`}, ${bytesText(head.bytes)}${head.count < head.of_count ? ` · of ${countText(head.of_count)} before the filters` : ''}`;
    problem.hidden = head.problem === null;
    problem.textContent = head.problem ?? '';
    none.hidden = head.count > 0;
    none.textContent = head.of_count === 0 ? 'Nothing is counted here.' : 'No allocation passes the filters.';
    save.disabled = head.count === 0;
    filters.offer(head);
    // A column that says the same in every row says it once, in the row read out.
    const missing = [[TIME, head.has_clock], [STREAM, head.streams.length > 1], [POOL, head.pools.length > 1]];
    rows.show(head.count, missing.filter(([, isThere]) => !isThere).map(([name]) => name), order);
  }

  function sortBy(sort) {
    const descending = sort === order.sort ? !order.descending : GREATEST_FIRST.includes(sort);
    order = { sort, descending };
    load();
  }

  async function choose(row) {
    chosen = row;
    const { id } = row;
    const allocation = await on.ask('allocation', { allocation: id });
    if (chosen?.id === id) {
      tell(row, allocation?.frames ?? []);
    }
  }

  function tell(row, frames) {
    const made = row.made === null ? 'Made before the recording' : `Made at entry ${countText(row.made)}`;
    const freed = row.freed === null ? 'alive at the end' : `freed at entry ${countText(row.freed)}`;
    const entry = (number, words) => number !== null && h('button', { type: 'button', class: 'button', onclick: () => on.show(number, state.device) }, words);
    fill(
      detail,
      h(
        'div',
        { class: 'readout-facts' },
        h('p', { class: 'readout-title' }, h('strong', {}, bytesText(row.size_bytes)), h('span', {}, swatch(row.category), row.category_label)),
        h('p', { class: 'map-line' }, place({ ...row, name: row.function }), row.file !== '' && copyPlaceButton(row)),
        h('p', { class: 'quiet' }, `${made}, ${freed}`, row.lifetime_us !== null && `; it lives ${isOpen(row) ? 'at least ' : ''}${duration(row.lifetime_us)}`),
        h('p', { class: 'quiet' }, `${countText(row.requested_bytes)} bytes requested, ${row.pool} pool, stream ${row.stream}`),
        h('p', { class: 'actions' }, entry(row.made, 'Show where it was made'), entry(row.freed, 'Show where it was freed')),
      ),
      h('div', { class: 'readout-stack' }, stackView(frames)),
    );
    detail.hidden = false;
    detail.scrollTop = 0;
    rows.redraw();
  }

  async function saveAll() {
    save.disabled = true;
    try {
      const text = await on.ask('allocationsCsv', { hasFolders: !state.withoutFolders });
      saveBlob(new Blob([text], { type: 'text/csv' }), `${state.report.file.name.replace(/\..*$/, '')}-allocations.csv`);
    } catch (error) {
      failed(error);
    } finally {
      save.disabled = head.count === 0;
    }
  }

  function failed(error) {
    problem.textContent = error.message;
    problem.hidden = false;
  }

  return {
    root,
    update(next, changed) {
      state = next;
      if (changed.has('report') || changed.has('device')) {
        chosen = null;
        detail.hidden = true;
        filters.reset();
      }
      isStale ||= SELECTING.some((key) => changed.has(key));
      if (isStale) {
        load();
      }
    },
  };
}

/** Whether its begin or its end is not in the file. */
function isOpen({ made, freed }) {
  return made === null || freed === null;
}

function where({ file, line, function: name }) {
  if (file === '') {
    return h('span', { class: 'quiet' }, name);
  }
  const base = file.split(/[/\\]/).pop();
  return [h('span', { class: 'base', title: whereText({ file, line }) }, line > 0 ? `${base}:${line}` : base), h('span', { class: 'quiet function' }, name)];
}
