/** What the timeline shows: the switch of its pictures, of its axis, and of what a drag does. */
import { choiceView } from './choice.js';
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
  const pictures = choiceView('Picture', PICTURES, on.picture);
  const axes = choiceView('Axis', AXES, on.along);
  const select = h('button', { type: 'button', class: 'toggle', 'aria-pressed': 'false', 'data-test': 'selecting', title: 'Drag over the timeline to select a range; with Shift held it is always so' }, 'Select a range');
  select.addEventListener('click', () => on.selecting(select.getAttribute('aria-pressed') !== 'true'));
  const root = h('div', { class: 'picture' }, pictures.root, axes.root, select);

  return {
    root,
    update(state, changed) {
      pictures.choose(state.picture);
      axes.choose(state.along);
      select.setAttribute('aria-pressed', String(state.selecting));
      if (changed.has('whole') && state.whole !== null) {
        axes.root.hidden = state.whole.view.time_us === null;
      }
    },
  };
}
