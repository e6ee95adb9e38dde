/** The keys, on a sheet of their own. */
import { h } from './dom.js';
import { sheetView } from './sheet.js';

const KEYS = [
  [['W', 'S', '+', '−'], 'zoom in and out, about the pinned entry'],
  [['A', 'D'], 'move left and right; so do the arrow keys on the timeline'],
  [['0', 'Esc'], 'show everything; Esc lets go of a selected range first'],
  [['[', ']'], 'go to the step or failure before and after'],
  [[',', '.'], 'go to the entry before and after, on the timeline'],
  [['Shift'], 'held while dragging over the timeline: select a range'],
  [['←', '→', '↑', '↓'], 'on the memory map, go from block to block and from segment to segment'],
  [['/'], 'search the stacks'],
  [['?'], 'show these keys'],
];

export function helpView() {
  return sheetView(
    'help',
    'Keys',
    h('dl', {}, KEYS.map(([keys, meaning]) => h('div', {}, h('dt', {}, keys.map((key) => h('kbd', {}, key))), h('dd', {}, meaning)))),
  );
}
