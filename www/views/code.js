/** A piece of code with a button that copies it. */
import { copyButton } from './copy.js';
import { h } from './dom.js';

export function code(text) {
  return h('div', { class: 'code' }, h('pre', { tabindex: '0' }, h('code', {}, breakable(text.trimEnd()))), copyButton(text, { title: 'Copy the code' }));
}

/** A line that is too long breaks behind a dot, a bracket or a comma, rather than inside a name. */
function breakable(text) {
  return text.split(/(?<=[.(,=])/).flatMap((part) => [part, h('wbr')]);
}
