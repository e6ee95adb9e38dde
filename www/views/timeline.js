/** The timeline with its overview: what is shown of the recording, and the way through it. */
import { entryAt, pannedWindow, timelineColumns, windowBetween, xOf, zoomedWindow } from '#wasm';
import { listenToBrush } from './brush.js';
import { fill, h, oncePerFrame } from './dom.js';
import { countText, duration } from './format.js';
import { listen } from './gestures.js';
import { icon } from './icons.js';
import { legendView } from './legend.js';
import { readoutView } from './readout.js';
import { tableView } from './table.js';

const STEP = 1.6;
const PAN = 0.15;
const EMPTY = 'Nothing was recorded on this device, so there is no course of memory to draw; what the file tells of its end is below.';
const HELP = 'Plus and minus zoom, the arrow keys move, comma and full stop go to the entry before and after, zero shows everything.';

/**
 * @param {import('#wasm').Painter} painter
 * @param {object} on
 * @param {(window: {begin: number, end: number}) => void} on.window show these entries
 * @param {(entry: number | null) => void} on.hover
 * @param {(entry: number) => void} on.pin
 * @param {(category: string | null) => void} on.emphasis
 * @param {(columns: number) => void} on.columns the picture is so many columns wide
 * @param {AbortSignal} signal ends all listening outside of the view
 * @param {HTMLElement | null} choice of the device, where there are several
 */
export function timelineView(painter, on, signal, choice) {
  const canvas = h('canvas', {
    class: 'timeline',
    'data-test': 'timeline',
    tabindex: '0',
    role: 'application',
    'aria-roledescription': 'timeline',
    'aria-describedby': 'timeline-help',
  });
  const overview = h('canvas', { class: 'overview', 'data-test': 'overview', 'aria-hidden': 'true' });
  const cursor = h('div', { class: 'cursor', hidden: true });
  const frame = h('div', { class: 'canvas-frame' }, canvas, cursor);
  const range = h('p', { class: 'range' });
  const legend = legendView(on.emphasis);
  const readout = readoutView();
  const table = tableView(painter);
  const tool = (name, title, act) => h('button', { type: 'button', class: 'icon-button', title, 'aria-label': title, onclick: act }, icon(name));
  const reset = tool('whole', 'Show everything (0)', () => on.window(whole()));
  const tools = h('div', { class: 'tools' }, tool('minus', 'Zoom out (−)', () => zoomAtPin(1 / STEP)), tool('plus', 'Zoom in (+)', () => zoomAtPin(STEP)), reset);
  const empty = h('p', { class: 'quiet' }, EMPTY);
  const chart = h(
    'div',
    {},
    legend.root,
    frame,
    overview,
    h('p', { class: 'hint' }, 'Wheel or pinch to zoom, drag to move, click to pin an entry; drag over the strip to choose a range.'),
    h('p', { class: 'unseen', id: 'timeline-help' }, HELP),
    readout.root,
    table.root,
  );
  const root = h(
    'section',
    { class: 'card', 'aria-labelledby': 'timeline-title' },
    h('div', { class: 'timeline-top' }, h('h2', { id: 'timeline-title' }, 'Timeline'), range, h('span', { class: 'space' }), tools),
    choice,
    chart,
    empty,
  );

  let state = null;
  let plot = null;
  let overviewPlot = null;
  let pressed = null;

  const entries = () => state.whole?.view.entries ?? 0;
  const whole = () => ({ begin: 0, end: entries() });
  const isWhole = () => state.window.begin === 0 && state.window.end === entries();
  const ready = () => plot !== null && state.whole !== null;
  const under = (x, window = state.window) => entryAt(plot, window.begin, window.end, x);
  const zoomed = (window, about, factor) => zoomedWindow(window.begin, window.end, entries(), about, factor);
  const panned = (window, share) => pannedWindow(window.begin, window.end, entries(), share);
  const inWindow = (entry) => entry !== null && state.window.begin <= entry && entry < state.window.end;

  function zoomAtPin(factor) {
    if (ready()) {
      const { begin, end } = state.window;
      on.window(zoomed(state.window, inWindow(state.pinned) ? state.pinned : Math.floor((begin + end) / 2), factor));
    }
  }

  const draw = oncePerFrame(() => {
    const width = widthOf(frame);
    if (state === null || state.whole === null || width === 0 || !canvas.isConnected) {
      return;
    }
    [canvas, overview].forEach((each) => {
      each.style.width = `${width}px`;
    });
    const look = { ratio: devicePixelRatio, dark: state.theme === 'dark', ...state.window };
    overviewPlot = painter.drawOverview(overview, state.whole, { ...look, width, height: overview.clientHeight });
    plot = painter.drawTimeline(canvas, state.shown, {
      ...look,
      width,
      height: canvas.clientHeight,
      selected: state.pinned,
      emphasis: state.emphasis,
      lanes: overviewPlot.lanes,
    });
    canvas.dataset.begin = state.window.begin;
    canvas.dataset.end = state.window.end;
    moveCursor();
  });

  function moveCursor() {
    const x = state.hovered === null || plot === null ? undefined : xOf(plot, state.window.begin, state.window.end, state.hovered);
    cursor.hidden = x === undefined;
    if (x !== undefined) {
      cursor.style.transform = `translateX(${x}px)`;
      cursor.style.top = `${plot.top}px`;
      cursor.style.height = `${plot.bottom - plot.top}px`;
    }
  }

  const measure = () => {
    draw();
    if (widthOf(frame) > 0) {
      on.columns(timelineColumns(widthOf(frame), devicePixelRatio));
    }
  };
  const sizes = new ResizeObserver(measure);
  sizes.observe(frame);
  signal.addEventListener('abort', () => sizes.disconnect());
  // Moved to a screen of another density, the element keeps its size.
  window.addEventListener('resize', measure, { signal });

  const gestures = {
    hover: (x) => ready() && on.hover(x === null ? null : under(x)),
    tap(x) {
      if (ready()) {
        on.pin(under(x));
      }
    },
    press() {
      pressed = state.window;
    },
    drag: (from, to) => ready() && on.window(panned(pressed, (from - to) / (plot.right - plot.left))),
    pinch: (from, to, factor) =>
      ready() && on.window(panned(zoomed(pressed, under(from, pressed), factor), (from - to) / (plot.right - plot.left))),
    zoom: (x, factor) => ready() && on.window(zoomed(state.window, under(x), factor)),
    scroll: (px) => ready() && on.window(panned(state.window, px / (plot.right - plot.left))),
    canZoomOut: () => ready() && !isWhole(),
  };
  listen(canvas, gestures, signal);
  canvas.addEventListener('dblclick', () => ready() && on.window(whole()));
  canvas.addEventListener('keydown', (event) => {
    const act = event.altKey || event.ctrlKey || event.metaKey ? undefined : KEYS[event.key];
    if (act && ready()) {
      event.preventDefault();
      act();
    }
  });
  const step = (by) => {
    const from = state.pinned ?? Math.floor((state.window.begin + state.window.end) / 2);
    const entry = Math.min(Math.max(from + by, 0), entries() - 1);
    on.pin(entry);
  };
  const KEYS = {
    '+': () => zoomAtPin(STEP),
    '=': () => zoomAtPin(STEP),
    '-': () => zoomAtPin(1 / STEP),
    _: () => zoomAtPin(1 / STEP),
    0: () => on.window(whole()),
    Escape: () => on.window(whole()),
    ArrowLeft: () => on.window(panned(state.window, -PAN)),
    ArrowRight: () => on.window(panned(state.window, PAN)),
    ArrowUp: () => zoomAtPin(STEP),
    ArrowDown: () => zoomAtPin(1 / STEP),
    Home: () => on.window(panned(state.window, -1e6)),
    End: () => on.window(panned(state.window, 1e6)),
    ',': () => step(-1),
    '.': () => step(1),
  };

  listenToBrush(overview, {
    window: () => (state.whole === null || overviewPlot === null ? null : state.window),
    isWhole: () => isWhole(),
    entryAt: (x) => entryAt(overviewPlot, 0, entries(), x),
    xOf: (entry) => xOf(overviewPlot, 0, entries(), Math.min(entry, entries() - 1)),
    between: (one, other) => on.window(windowBetween(one, other, entries())),
    moved: (from, by) => on.window(panned(from, by / Math.max(from.end - from.begin, 1))),
  });

  return {
    root,
    update(next, changed) {
      state = next;
      if (changed.has('device') || changed.has('report')) {
        const told = recorded(state.report, state.device) > 0;
        [chart, range, tools].forEach((part) => {
          part.hidden = !told;
        });
        empty.hidden = told;
      }
      legend.update(state, changed);
      readout.update(state, changed);
      table.update(state, changed);
      if (changed.has('window') || changed.has('whole') || changed.has('shown')) {
        tellRange();
      }
      if (['whole', 'shown', 'window', 'pinned', 'emphasis', 'theme'].some((key) => changed.has(key))) {
        draw();
      }
      if (changed.has('hovered')) {
        moveCursor();
      }
    },
    focus() {
      canvas.focus({ preventScroll: true });
      root.scrollIntoView({ block: 'nearest' });
    },
  };

  function tellRange() {
    if (state.whole === null) {
      return;
    }
    const { begin, end } = state.window;
    const words = isWhole()
      ? everything(entries())
      : `Entries ${countText(begin)} to ${countText(end - 1)} of ${countText(entries())}`;
    const times = state.shown.view.time_us;
    fill(range, words, times && times[1] > times[0] && ` · ${duration(times[1] - times[0])}`);
    canvas.setAttribute('aria-label', `Allocated memory by category. ${words}.`);
    reset.disabled = isWhole();
  }
}

/** Entries recorded on a device. */
function recorded(report, device) {
  return report?.devices.find((each) => each.device === device)?.entries ?? 0;
}

/** The width for a canvas: whole CSS pixels, as a part of one would blur it. */
function widthOf(frame) {
  return Math.floor(frame.getBoundingClientRect().width);
}

function everything(entries) {
  return entries === 1 ? 'One entry' : `All ${countText(entries)} entries`;
}
