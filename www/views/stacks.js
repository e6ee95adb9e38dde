import { h } from './dom.js';

export function stacksView() {
  return { root: h('div', {}), update() {} };
}
