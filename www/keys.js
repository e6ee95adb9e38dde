/**
 * Keys that mean the same wherever the focus is: in the element, or nowhere on a page that it fills.
 * A field takes its keys for itself, and so does a sheet that lies over the page.
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
      const isCovered = element.shadowRoot.querySelector('dialog[open]') !== null;
      if (isOurs && isPlain && !isCovered && !event.defaultPrevented && !takesText(target) && act(event)) {
        event.preventDefault();
      }
    },
    { signal },
  );
}

function takesText(target) {
  return target instanceof Element && target.matches('input:not([type="checkbox"]), textarea, select, [contenteditable]');
}
