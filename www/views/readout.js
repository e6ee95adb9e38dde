/** One entry in words: the one under the pointer, else the pinned one. */
import { swatch } from './bar.js';
import { fill, h } from './dom.js';
import { bytes, clock, countText } from './format.js';
import { stackView } from './stack.js';

export function readoutView() {
  const root = h('div', { class: 'readout', 'data-test': 'readout' });

  return {
    root,
    update(state, changed) {
      if (!changed.has('entry') && !changed.has('whole')) {
        return;
      }
      // A pointer on its way would have a screen reader never stop.
      root.setAttribute('aria-live', state.hovered === null ? 'polite' : 'off');
      if (state.entry === null) {
        fill(root, h('p', { class: 'quiet' }, state.whole === null ? '' : 'Point at the chart to read an entry, click to keep it.'));
        return;
      }
      const pinned = state.entry.entry === state.pinned;
      fill(root, summary(state.entry, pinned, labels(state)), h('div', { class: 'readout-stack' }, stackView(state.entry.frames)));
      root.scrollTop = 0;
    },
  };
}

function labels(state) {
  const known = new Map((state.whole?.view.bands ?? []).map(({ category, label }) => [category, label]));
  return (category) => known.get(category) ?? category.replaceAll('_', ' ');
}

function summary(entry, pinned, labelOf) {
  const { category, lifetime, time_us: time, annotations } = entry;
  return h(
    'div',
    { class: 'readout-facts' },
    h('p', { class: 'readout-title' }, h('strong', {}, `Entry ${countText(entry.entry)}`), pinned && h('span', { class: 'pinned' }, 'pinned'), time !== null && h('span', { class: 'quiet' }, clock(time))),
    h('p', {}, h('code', {}, entry.action), ' ', entry.size_bytes > 0 && bytes(entry.size_bytes), category && [' ', swatch(category), labelOf(category)]),
    lifetime && h('p', { class: 'quiet' }, lifetime),
    annotations.length > 0 && h('p', { class: 'quiet' }, 'in ', annotations.join(' › ')),
    h('dl', { class: 'readout-totals' }, total('allocated', entry), total('reserved', entry), total('requested', entry), total('active', entry)),
  );
}

function total(measure, entry) {
  return h('div', {}, h('dt', {}, measure), h('dd', {}, bytes(entry[`${measure}_bytes`])));
}
