import { h } from './dom.js';

export function stepsView() {
  return { root: h('div', {}), update() {} };
}
