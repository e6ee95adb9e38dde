/**
 * Turns pointers, the wheel and keys over a canvas into what they mean. Places are CSS pixels from
 * the canvas's left edge and top; what lies there is for others to know.
 *
 * @typedef {object} On
 * @property {(x: number | null, y?: number) => void} hover the pointer is there, or nowhere
 * @property {(x: number, y: number) => void} tap a click that was no drag
 * @property {(x: number, shift: boolean) => void} press the begin of a drag or pinch
 * @property {(from: number, to: number) => void} drag since the press
 * @property {() => void} release the end of a drag
 * @property {(x: number, factor: number) => void} zoom by the wheel, at a place
 * @property {(from: number, to: number, factor: number) => void} pinch since the press: middles and spread
 * @property {(px: number) => void} scroll sideways, by the wheel
 * @property {() => boolean} canZoomOut
 */

const STILL_PX = 4;
/** A wheel that was turning the page goes on turning it for so long after the last turn. */
const SAME_TURN_MS = 300;
const PIXELS_OF = [1, 16, 400];

/** @param {HTMLElement} canvas @param {On} on @param {AbortSignal} signal ends all listening */
export function listen(canvas, on, signal) {
  listenToPointers(canvas, on);
  listenToWheel(canvas, on, signal);
}

function listenToPointers(canvas, on) {
  const down = new Map();
  let start = null;
  let dragging = false;

  const xOf = (event) => event.clientX - canvas.getBoundingClientRect().left;
  const yOf = (event) => event.clientY - canvas.getBoundingClientRect().top;
  const spread = () => {
    const [a, b] = [...down.values()];
    return { middle: (a + b) / 2, width: Math.max(Math.abs(a - b), 20) };
  };
  // A finger more or less is a new gesture.
  const restart = (shift) => {
    const [first] = down.values();
    start = down.size === 2 ? spread() : { middle: first, width: 0 };
    on.press(start.middle, shift);
  };

  canvas.addEventListener('pointerdown', (event) => {
    if (event.button !== 0 || down.size === 2) {
      return;
    }
    canvas.setPointerCapture(event.pointerId);
    down.set(event.pointerId, xOf(event));
    dragging = down.size === 2;
    restart(event.shiftKey);
  });

  canvas.addEventListener('pointermove', (event) => {
    const x = xOf(event);
    if (!down.has(event.pointerId)) {
      on.hover(x, yOf(event));
      return;
    }
    down.set(event.pointerId, x);
    if (down.size === 2) {
      const { middle, width } = spread();
      on.pinch(start.middle, middle, width / start.width);
    } else if (dragging || Math.abs(x - start.middle) >= STILL_PX) {
      dragging = true;
      on.hover(null);
      on.drag(start.middle, x);
    }
  });

  const up = (event) => {
    if (!down.delete(event.pointerId)) {
      return;
    }
    if (down.size > 0) {
      restart(event.shiftKey);
    } else if (dragging) {
      on.release();
    } else if (event.type === 'pointerup') {
      on.tap(xOf(event), yOf(event));
    }
  };
  canvas.addEventListener('pointerup', up);
  canvas.addEventListener('pointercancel', up);
  canvas.addEventListener('pointerleave', () => on.hover(null));
}

function listenToWheel(canvas, on, signal) {
  let pageTurned = -Infinity;
  const elsewhere = (event) => {
    if (!event.composedPath().includes(canvas)) {
      pageTurned = event.timeStamp;
    }
  };
  window.addEventListener('wheel', elsewhere, { passive: true, capture: true, signal });

  canvas.addEventListener(
    'wheel',
    (event) => {
      const px = (delta) => delta * PIXELS_OF[event.deltaMode];
      const zooms = event.ctrlKey || event.metaKey;
      const turnsPage = event.timeStamp - pageTurned < SAME_TURN_MS || (event.deltaY > 0 && !on.canZoomOut());
      if (Math.abs(event.deltaX) > Math.abs(event.deltaY) || event.shiftKey) {
        event.preventDefault();
        on.scroll(px(event.deltaX || event.deltaY));
      } else if (zooms || !turnsPage) {
        event.preventDefault();
        // A trackpad's pinch comes as small turns with the control key.
        const speed = zooms ? 0.01 : 0.0025;
        on.zoom(event.clientX - canvas.getBoundingClientRect().left, Math.exp(-px(event.deltaY) * speed));
      } else {
        pageTurned = event.timeStamp;
      }
    },
    { passive: false },
  );
}
