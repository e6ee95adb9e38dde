/** A button that copies a text and says that it did. */
import { h, fill } from './dom.js';
import { icon } from './icons.js';

const SAID_MS = 1600;

/**
 * `text` is the text, or a function of the button that returns it or a promise of it. Without a `label` the button
 * is an icon, named by `title`.
 */
export function copyButton(text, { label = null, title = 'Copy', className = '' } = {}) {
  const face = (name, words) => [icon(name), label === null ? null : h('span', {}, words)];
  const said = h('span', { class: 'unseen', 'aria-live': 'polite' });
  const button = h(
    'button',
    { type: 'button', class: `${label === null ? 'icon-button' : 'button'} ${className}`, title, 'aria-label': label === null ? title : null },
    face('copy', label),
  );
  let timer = 0;
  button.addEventListener('click', async (event) => {
    event.stopPropagation();
    const done = await copy(typeof text === 'function' ? await text(button) : text, button);
    fill(button, face(done ? 'check' : 'close', done ? 'Copied' : 'Not copied'));
    said.textContent = done ? 'Copied' : 'The browser did not let the page copy.';
    clearTimeout(timer);
    timer = setTimeout(() => {
      fill(button, face('copy', label));
      said.textContent = '';
    }, SAID_MS);
  });
  return h('span', { class: 'copy' }, button, said);
}

async function copy(text, beside) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Pages from plain http, and some opened as files, have no clipboard; a selection does.
    const area = h('textarea', { class: 'unseen', 'aria-hidden': 'true' });
    area.value = text;
    beside.after(area);
    area.select();
    const done = document.execCommand('copy');
    area.remove();
    beside.focus();
    return done;
  }
}
