/** A button that copies a text and says that it did. */
import { h } from './dom.js';
import { toldButton } from './told.js';

/**
 * `text` is the text, or a function of the button that returns it or a promise of it. Without a `label` the button
 * is an icon, named by `title`.
 */
export function copyButton(text, { label = null, title = 'Copy', className = '' } = {}) {
  const act = async (button) => copy(typeof text === 'function' ? await text(button) : text, button);
  return toldButton(act, { picture: 'copy', label, title, className, done: 'Copied', failed: 'Not copied', why: 'The browser did not let the page copy.' });
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
