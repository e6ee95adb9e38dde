/** A piece of code with a button that copies it. */
import { copyButton } from './copy.js';
import { h } from './dom.js';

export function code(text) {
  return h('div', { class: 'code' }, h('pre', { tabindex: '0' }, h('code', {}, text.trimEnd())), copyButton(text, { title: 'Copy the code' }));
}
