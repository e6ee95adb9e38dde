/** What the timeline shows: the switch of its pictures, of its axis, and of what a drag does. */
import { h } from './dom.js';

const PICTURES = [
  ['category', 'Categories', 'What memory is for'],
  ['line', 'Lines', 'Which lines of your code made it'],
  ['heap', 'Allocations', 'Each allocation, upon those made before it'],
  ['addresses', 'Addresses', 'Each allocation where it lay in the device’s memory'],
];

const AXES = [
  ['entries', 'By entry', 'Every entry of the trace is as wide as any other'],
  ['time', 'By time', 'A second is as wide as any other'],
];

/**
 * @param {object} on
 * @param {(picture: string) => void} on.picture
 * @param {(along: string) => void} on.along
 * @param {(selecting: boolean) => void} on.selecting a drag selects a range
 */
export function pictureView(on) {
  const pictures = group('Picture', PICTURES, on.picture);
  const axes = group('Axis', AXES, on.along);
  const select = h('button', { type: 'button', class: 'toggle', 'aria-pressed': 'false', 'data-test': 'selecting', title: 'Drag over the timeline to select a range; with Shift held it is always so' }, 'Select a range');
  select.addEventListener('click', () => on.selecting(select.getAttribute('aria-pressed') !== 'true'));
  const root = h('div', { class: 'picture' }, pictures.root, axes.root, select);

  return {
    root,
    update(state, changed) {
      pictures.show(state.picture);
      axes.show(state.along);
      select.setAttribute('aria-pressed', String(state.selecting));
      if (changed.has('whole') && state.whole !== null) {
        axes.root.hidden = state.whole.view.time_us === null;
      }
    },
  };
}

function group(label, choices, choose) {
  const buttons = new Map(
    choices.map(([value, name, title]) => [value, h('button', { type: 'button', 'aria-pressed': 'false', title, 'data-test': `show-${value}`, onclick: () => choose(value) }, name)]),
  );
  return {
    root: h('div', { class: 'tabs small', role: 'group', 'aria-label': label }, [...buttons.values()]),
    show: (chosen) => buttons.forEach((button, value) => button.setAttribute('aria-pressed', String(value === chosen))),
  };
}
