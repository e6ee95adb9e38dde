/** One entry in words: the one under the pointer, else the pinned one. */
import { swatch } from './bar.js';
import { fill, h } from './dom.js';
import { bytes, clock, countText } from './format.js';
import { stackView } from './stack.js';

/** @param {{show: (entry: number) => void}} on */
export function readoutView(on) {
  const root = h('div', { class: 'readout', 'data-test': 'readout' });

  return {
    root,
    update(state, changed) {
      if (!['entry', 'allocation', 'whole'].some((key) => changed.has(key))) {
        return;
      }
      // A pointer on its way would have a screen reader never stop.
      root.setAttribute('aria-live', state.hovered === null ? 'polite' : 'off');
      if (state.entry === null) {
        fill(root, h('p', { class: 'quiet' }, state.whole === null ? '' : 'Point at the chart to read an entry, click to keep it.'));
        return;
      }
      if (state.allocation !== null) {
        fill(root, allocationFacts(state.allocation, on), h('div', { class: 'readout-stack' }, stackView(state.allocation.frames)));
        root.scrollTop = 0;
        return;
      }
      const pinned = state.entry.entry === state.pinned;
      fill(root, summary(state.entry, pinned, labels(state)), h('div', { class: 'readout-stack' }, stackView(state.entry.frames)));
      root.scrollTop = 0;
    },
  };
}

function labels(state) {
  const known = new Map(state.report.diagnosis.bar.map(({ key, label }) => [key, label]));
  return (category) => known.get(category) ?? category.replaceAll('_', ' ');
}

function allocationFacts({ size_bytes: size, requested_bytes: requested, address, category, category_label: label, lifetime, begin, end }, on) {
  const go = (entry, words) => entry !== null && h('button', { type: 'button', class: 'link', onclick: () => on.show(entry) }, words);
  return h(
    'div',
    { class: 'readout-facts' },
    h('p', { class: 'readout-title' }, h('strong', {}, 'Allocation of ', bytes(size)), h('span', {}, swatch(category), label)),
    h('p', { class: 'quiet' }, lifetime),
    h('dl', { class: 'readout-totals' }, h('div', {}, h('dt', {}, 'requested'), h('dd', {}, bytes(requested))), h('div', {}, h('dt', {}, 'address'), h('dd', {}, h('code', {}, address)))),
    h('p', { class: 'readout-links' }, go(begin, 'Show where it was made'), go(end, 'Show where it was freed')),
  );
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
