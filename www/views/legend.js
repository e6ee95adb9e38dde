/** The bands of the timeline; one that is pressed keeps its colour while the others fade. */
import { swatch } from './bar.js';
import { fill, h } from './dom.js';

/**
 * @param {object} on
 * @param {(key: string | null) => void} on.emphasis
 * @param {(text: string) => void} on.text only stacks that contain it
 */
export function legendView(on) {
  const root = h('div', { class: 'legend', 'data-test': 'legend', role: 'group', 'aria-label': 'Bands' });
  const overlay = h('span', { class: 'key', hidden: true }, h('span', { class: 'line-swatch overlay' }), 'reserved with the other setting');
  const reserved = h('span', { class: 'key' }, h('span', { class: 'line-swatch' }), 'reserved');
  const pending = h('span', { class: 'key', hidden: true }, swatch('pending_free'), 'freed, awaited by another stream');
  const returned = h('span', { class: 'key', hidden: true }, h('span', { class: 'wedge' }), 'segments returned to the driver');
  let buttons = new Map();

  return {
    root,
    update(state, changed) {
      const bands = state.shown?.view.bands ?? [];
      const isNew = bands.some(({ key, label }) => buttons.get(key)?.dataset.label !== label) || bands.length !== buttons.size;
      if (changed.has('shown') && state.shown !== null && (isNew || bands.length === 0)) {
        buttons = new Map(bands.map((band) => [band.key, button(band)]));
        fill(root, [...buttons.values()], h('span', { class: 'key' }, swatch('idle'), 'reserved, idle'), pending, reserved, overlay, returned);
      }
      if (changed.has('shown') && state.shown !== null) {
        returned.hidden = state.shown.view.returned.length === 0;
        const isMap = state.shown.layout === 'addresses';
        reserved.hidden = isMap;
        pending.hidden = !state.shown.view.awaits;
      }
      for (const [key, element] of buttons) {
        element.setAttribute('aria-pressed', String(state.emphasis === key));
      }
      overlay.hidden = !state.overlaid;
      root.classList.toggle('emphasis', state.emphasis !== null);
    },
  };

  function button({ key, label, text }) {
    const press = () => {
      const isPressed = buttons.get(key).getAttribute('aria-pressed') === 'true';
      on.emphasis(isPressed ? null : key);
      // A line is counted alone by what its stacks contain.
      if (text !== null) {
        on.text(isPressed ? '' : text);
      }
    };
    return h('button', { type: 'button', class: 'key', 'aria-pressed': 'false', 'data-label': label, title: `Show ${label} alone`, onclick: press }, swatch(key), h('span', { class: 'key-label' }, label));
  }
}
