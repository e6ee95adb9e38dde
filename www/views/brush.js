/**
 * The overview's window, moved and drawn by a pointer: its edges are dragged, its inside is moved,
 * and a drag that begins elsewhere draws a new one.
 */

const GRIP_PX = 10;
const STILL_PX = 4;

/**
 * @param {HTMLElement} canvas
 * @param {object} on
 * @param {() => {begin: number, end: number} | null} on.window what is shown; null for nothing yet
 * @param {() => boolean} on.isWhole
 * @param {(x: number) => number} on.placeAt
 * @param {(place: number) => number} on.xOf
 * @param {(one: number, other: number) => void} on.between show what is between two places
 * @param {(from: {begin: number, end: number}, by: number) => void} on.moved show a window, so many places later
 */
export function listenToBrush(canvas, on) {
  const xOf = (event) => event.clientX - canvas.getBoundingClientRect().left;
  let drag = null;

  /** What a drag from here would do: called with where it goes. */
  function grab(x) {
    const window = on.window();
    const [left, right] = [on.xOf(window.begin), on.xOf(window.end)];
    const last = window.end - 1;
    const start = on.placeAt(x);
    if (!on.isWhole()) {
      if (Math.abs(x - left) <= GRIP_PX && Math.abs(x - left) <= Math.abs(x - right)) {
        return { cursor: 'ew-resize', to: (place) => on.between(Math.min(place, last), last) };
      }
      if (Math.abs(x - right) <= GRIP_PX) {
        return { cursor: 'ew-resize', to: (place) => on.between(window.begin, Math.max(entry, window.begin)) };
      }
      if (left < x && x < right) {
        return { cursor: 'grab', to: (place) => on.moved(window, entry - start) };
      }
    }
    return { cursor: 'crosshair', to: (place) => on.between(start, entry) };
  }

  canvas.addEventListener('pointerdown', (event) => {
    if (event.button === 0 && on.window() !== null) {
      canvas.setPointerCapture(event.pointerId);
      drag = { pointer: event.pointerId, from: xOf(event), moving: false, ...grab(xOf(event)) };
    }
  });
  canvas.addEventListener('pointermove', (event) => {
    const x = xOf(event);
    if (drag === null) {
      canvas.style.cursor = on.window() === null ? '' : grab(x).cursor;
    } else if (drag.pointer === event.pointerId && (drag.moving || Math.abs(x - drag.from) >= STILL_PX)) {
      drag.moving = true;
      drag.to(on.placeAt(x));
    }
  });
  const end = () => {
    drag = null;
  };
  canvas.addEventListener('pointerup', end);
  canvas.addEventListener('pointercancel', end);
}
