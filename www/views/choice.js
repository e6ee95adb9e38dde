/** One of a few, as buttons side by side. */
import { h } from './dom.js';

/**
 * @param {string} label what is chosen
 * @param {[any, string, string][]} options each a value, its name and what it means
 * @param {(value: any) => void} onChoice
 */
export function choiceView(label, options, onChoice) {
  const buttons = new Map(options.map(([value, name, title]) => [value, h('button', { type: 'button', title, 'aria-pressed': 'false', 'data-test': `show-${value}`, onclick: () => onChoice(value) }, name)]));
  return {
    root: h('div', { class: 'tabs small', role: 'group', 'aria-label': label }, [...buttons.values()]),
    choose(chosen) {
      for (const [value, button] of buttons) {
        button.setAttribute('aria-pressed', String(value === chosen));
      }
    },
  };
}
