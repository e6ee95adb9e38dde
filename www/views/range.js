/** What became of the selected range: made, freed and kept in it, and ways on from there. */
import { Latest } from '../latest.js';
import { fill, h } from './dom.js';
import { bytes, countText } from './format.js';

/**
 * @param {object} on
 * @param {(kind: string, payload: object) => Promise<any>} on.ask
 * @param {(range: {begin: number, end: number} | null) => void} on.range
 * @param {() => void} on.zoomToRange
 */
export function rangeView(on) {
  const sums = h('dl', { class: 'sums' });
  const root = h(
    'div',
    { class: 'range-story', 'data-test': 'range', 'aria-live': 'polite', hidden: true },
    sums,
    h('div', { class: 'range-tools' }, h('button', { type: 'button', class: 'button small', onclick: on.zoomToRange }, 'Zoom to it'), h('button', { type: 'button', class: 'button small', onclick: () => on.range(null) }, 'Let go')),
  );
  const asking = new Latest(
    (wanted) => on.ask('range', wanted),
    (view) => view !== null && tell(view),
    () => fill(sums),
  );

  function tell({ begin, end, allocated, freed, kept, before_bytes: before, after_bytes: after, peak_bytes: peak }) {
    const sum = ({ bytes: total, count }) => [bytes(total), h('span', { class: 'quiet' }, ` in ${countText(count)}`)];
    const rows = [
      ['range', `entries ${countText(begin)} to ${countText(end - 1)}`],
      ['made', sum(allocated)],
      ['freed', sum(freed)],
      ['made and kept', sum(kept)],
      ['held before', bytes(before)],
      ['held after', bytes(after)],
      ['most held', bytes(peak)],
    ];
    fill(sums, rows.map(([name, value]) => h('div', {}, h('dt', {}, name), h('dd', {}, value))));
    root.hidden = false;
  }

  return {
    root,
    update(state, changed) {
      if (changed.has('range') || changed.has('report') || changed.has('device')) {
        if (state.range === null) {
          asking.drop();
          root.hidden = true;
        } else {
          asking.want(state.range);
        }
      }
    },
  };
}
