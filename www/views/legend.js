/** The categories of the timeline; one that is pressed keeps its colour while the others fade. */
import { swatch } from './bar.js';
import { fill, h } from './dom.js';

/** @param {(category: string | null) => void} onEmphasis */
export function legendView(onEmphasis) {
  const root = h('div', { class: 'legend', role: 'group', 'aria-label': 'Categories' });
  const overlay = h('span', { class: 'key', hidden: true }, h('span', { class: 'line-swatch overlay' }), 'reserved with the other setting');
  let buttons = new Map();

  return {
    root,
    update(state, changed) {
      const bands = state.whole?.view.bands ?? [];
      const isNew = bands.some(({ category }) => !buttons.has(category)) || bands.length !== buttons.size;
      if (changed.has('whole') && state.whole !== null && (isNew || bands.length === 0)) {
        buttons = new Map(bands.map(({ category, label }) => [category, button(category, label)]));
        fill(root, [...buttons.values()], h('span', { class: 'key' }, swatch('idle'), 'reserved, idle'), h('span', { class: 'key' }, h('span', { class: 'line-swatch' }), 'reserved'), overlay);
      }
      for (const [category, element] of buttons) {
        element.setAttribute('aria-pressed', String(state.emphasis === category));
      }
      overlay.hidden = !state.overlaid;
      root.classList.toggle('emphasis', state.emphasis !== null);
    },
  };

  function button(category, label) {
    const press = () => onEmphasis(buttons.get(category).getAttribute('aria-pressed') === 'true' ? null : category);
    return h('button', { type: 'button', class: 'key', 'aria-pressed': 'false', title: `Show ${label} alone`, onclick: press }, swatch(category), label);
  }
}
