import { h } from './dom.js';

export function allocationsView() {
  return { root: h('div', {}), update() {} };
}
