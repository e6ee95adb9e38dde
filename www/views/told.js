/** A button that does something and says whether it did. */
import { fill, h } from './dom.js';
import { icon } from './icons.js';

const SAID_MS = 1600;

/**
 * `act` answers whether it is done, or a promise of that; until then the button is out of use.
 * Without a `label` the button is an icon, named by `title`.
 *
 * @param {(button: HTMLButtonElement) => Promise<boolean>} act
 * @param {{picture: string, label?: string | null, title: string, className?: string, done: string, failed: string, why: string, test?: string}} face
 */
export function toldButton(act, { picture, label = null, title, className = '', done, failed, why, test = null }) {
  const face = (name, words) => [icon(name), label === null ? null : h('span', {}, words)];
  const said = h('span', { class: 'unseen', 'aria-live': 'polite' });
  const button = h(
    'button',
    { type: 'button', class: `${label === null ? 'icon-button' : 'button'} ${className}`, title, 'aria-label': label === null ? title : null, 'data-test': test },
    face(picture, label),
  );
  let timer = 0;
  button.addEventListener('click', async (event) => {
    event.stopPropagation();
    button.disabled = true;
    const isDone = await act(button);
    button.disabled = false;
    fill(button, face(isDone ? 'check' : 'close', isDone ? done : failed));
    said.textContent = isDone ? done : why;
    clearTimeout(timer);
    timer = setTimeout(() => {
      fill(button, face(picture, label));
      said.textContent = '';
    }, SAID_MS);
  });
  return h('span', { class: `copy ${className}` }, button, said);
}
