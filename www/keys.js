/**
 * Keys that mean the same wherever the focus is: in the element, or nowhere on a page that it fills.
 * A field takes its keys for itself.
 */
import { fillsPage } from './drops.js';

/**
 * @param {HTMLElement} element
 * @param {(event: KeyboardEvent) => boolean} act answers whether the key means anything
 * @param {AbortSignal} signal ends it
 */
export function listenToKeys(element, act, signal) {
  document.addEventListener(
    'keydown',
    (event) => {
      const [target] = event.composedPath();
      const isOurs = event.composedPath().includes(element) || (target === document.body && fillsPage(element));
      const isPlain = !event.altKey && !event.ctrlKey && !event.metaKey;
      if (isOurs && isPlain && !event.defaultPrevented && !takesText(target) && act(event)) {
        event.preventDefault();
      }
    },
    { signal },
  );
}

function takesText(target) {
  return target instanceof Element && target.matches('input, textarea, select, [contenteditable]');
}
