/** Memory at one moment as a bar, with its parts in words below. */
import { h } from './dom.js';
import { bytes, bytesText, percent } from './format.js';

/** @param {{key: string, label: string, bytes: number}[]} parts */
export function barView(parts, title) {
  const present = parts.filter((part) => part.bytes > 0);
  const total = present.reduce((sum, part) => sum + part.bytes, 0);
  const segments = present.map((part) =>
    h('span', {
      class: 'bar-part',
      title: `${part.label}: ${bytesText(part.bytes)}, ${percent(part.bytes, total)}`,
      vars: { '--share': part.bytes / total, '--colour': colourOf(part.key) },
    }),
  );
  return h(
    'figure',
    { class: 'bar-figure' },
    h('figcaption', { class: 'bar-title' }, h('span', {}, title), h('strong', {}, bytes(total))),
    // The list says the same to those who do not see the bar.
    h('div', { class: 'bar', 'aria-hidden': 'true' }, segments),
    h(
      'ul',
      { class: 'bar-legend' },
      present.map((part) =>
        h(
          'li',
          {},
          swatch(part.key),
          h('span', { class: 'bar-label' }, part.label),
          h('span', { class: 'bar-bytes' }, bytes(part.bytes)),
          h('span', { class: 'bar-share' }, percent(part.bytes, total)),
        ),
      ),
    ),
  );
}

/** The colour of a category, or of what else reserved memory can be. */
export function colourOf(key) {
  return `var(--c-${key}, var(--c-unknown))`;
}

export function swatch(key) {
  return h('span', { class: 'swatch', 'aria-hidden': 'true', vars: { '--colour': colourOf(key) } });
}
