/** Filters of the allocations: size, lifetime, begin and end, stream and pool. */
import { fill, h } from './dom.js';

/** The last rest of typing before the table is asked for. */
const TYPING_MS = 250;

const FATES = [
  ['any', 'Any life'],
  ['held', 'Alive at the end'],
  ['freed', 'Freed in the recording'],
  ['older', 'Older than the recording'],
];

/** @param {() => void} onChange */
export function filtersView(onChange, signal) {
  const field = (label, placeholder, test) => h('input', { type: 'text', placeholder, 'aria-label': label, 'data-test': test, spellcheck: 'false', autocapitalize: 'off', oninput: typed });
  const minSize = field('Least size', '10 MiB', 'min-size');
  const maxSize = field('Greatest size', 'any', 'max-size');
  const minLifetime = field('Shortest life in entries', '0', 'min-lifetime');
  const maxLifetime = field('Longest life in entries', 'any', 'max-lifetime');
  const choice = (label, test) => h('select', { 'aria-label': label, 'data-test': test, onchange: onChange });
  const fate = choice('Begin and end', 'fate');
  const stream = choice('Stream', 'stream');
  const pool = choice('Pool', 'pool');
  fill(fate, FATES.map(([value, label]) => h('option', { value }, label)));
  const root = h(
    'div',
    { class: 'filters', role: 'group', 'aria-label': 'Filters' },
    h('span', { class: 'filter' }, 'Size', minSize, 'to', maxSize),
    h('span', { class: 'filter' }, 'Entries lived', minLifetime, 'to', maxLifetime),
    fate,
    stream,
    pool,
  );

  let typing = null;
  function typed() {
    clearTimeout(typing);
    typing = setTimeout(onChange, TYPING_MS);
  }
  signal.addEventListener('abort', () => clearTimeout(typing));

  return {
    root,
    /** The filters as the worker takes them. */
    question: () => ({
      minSize: minSize.value,
      maxSize: maxSize.value,
      minLifetime: minLifetime.value,
      maxLifetime: maxLifetime.value,
      fate: fate.value,
      stream: stream.value === '' ? null : Number(stream.value),
      pool: pool.value === '' ? null : pool.value,
    }),
    /** Offers the streams and pools that there are; what is chosen stays. */
    offer({ streams, pools }) {
      offer(stream, 'All streams', streams.map((each) => [String(each.stream), `Stream ${each.handle}`]));
      offer(pool, 'All pools', pools.map((each) => [each.pool, `Pool: ${each.label}`]));
    },
    reset() {
      [minSize, maxSize, minLifetime, maxLifetime, stream, pool].forEach((each) => {
        each.value = '';
      });
      fate.value = 'any';
    },
  };
}

function offer(select, all, options) {
  const chosen = select.value;
  const isThere = options.some(([value]) => value === chosen);
  fill(select, [['', all], ...options].map(([value, label]) => h('option', { value }, label)));
  // A choice that the selection no longer has still filters, so it stays to be seen and taken back.
  if (chosen !== '' && !isThere) {
    select.append(h('option', { value: chosen }, `${chosen} (none here)`));
  }
  select.value = chosen;
  select.hidden = options.length < 2 && chosen === '';
}
