/**
 * Files dragged over an element and dropped on it. One that fills the page takes what is dropped
 * anywhere; one among others takes only its own.
 */
import { droppedFiles } from './files.js';

/** Browsers tell of a drag at least this often, but not always of its end. */
const DRAG_MS = 500;

/**
 * @param {HTMLElement} element
 * @param {object} on
 * @param {(dragging: boolean) => void} on.drag
 * @param {(given: import('./files.js').Given) => void} on.files
 * @param {(error: string) => void} on.refuse
 * @param {AbortSignal} signal ends it
 */
export function listenToDrops(element, on, signal) {
  let timer = 0;
  let latest = 0;
  const isOurs = (event) => carriesFiles(event.dataTransfer) && (fillsPage(element) || event.composedPath().includes(element));
  const leave = () => on.drag(false);

  const over = (event) => {
    if (isOurs(event)) {
      event.preventDefault();
      event.dataTransfer.dropEffect = 'copy';
      on.drag(true);
      clearTimeout(timer);
      timer = setTimeout(leave, DRAG_MS);
    }
  };
  const drop = (event) => {
    leave();
    if (!isOurs(event)) {
      return;
    }
    event.preventDefault();
    // A folder takes a while to be looked through; what is dropped meanwhile takes its place.
    const turn = ++latest;
    const ifLatest = (then) => (value) => turn === latest && then(value);
    droppedFiles(event.dataTransfer).then(ifLatest(on.files), ifLatest(() => on.refuse('What was dropped could not be read; check that it may be read, or choose the files instead.')));
  };
  window.addEventListener('dragenter', over, { signal });
  window.addEventListener('dragover', over, { signal });
  window.addEventListener('drop', drop, { signal });
}

/** Whether the element is the page, as far as anyone sees. */
export function fillsPage(element) {
  const { width, height } = element.getBoundingClientRect();
  return width >= 0.9 * innerWidth && height >= 0.9 * innerHeight;
}

/** As far as a browser says before the drop. */
function carriesFiles(transfer) {
  return transfer !== null && [...transfer.types].includes('Files');
}
