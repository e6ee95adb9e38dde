/** The timeline with its overview: what is shown of the recording, and the way through it. */
import { pannedWindow, placeAt, timelineColumns, windowBetween, xOf, zoomedWindow } from '#wasm';
import { listenToBrush } from './brush.js';
import { fill, h, oncePerFrame, whenRestored } from './dom.js';
import { countText, duration } from './format.js';
import { listen } from './gestures.js';
import { icon } from './icons.js';
import { legendView } from './legend.js';
import { pictureView } from './picture.js';
import { rangeView } from './range.js';
import { readoutView } from './readout.js';
import { saveChart } from './save.js';
import { tableView } from './table.js';

const STEP = 1.6;
const PAN = 0.15;
const REST_MS = 60;
const EMPTY = 'Nothing was recorded on this device, so there is no course of memory to draw; what the file tells of its end is below.';
const HELP = 'Plus and minus zoom, the arrow keys move, comma and full stop go to the entry before and after, brackets to the step or failure before and after, zero shows everything.';
const HINTS = {
  false: 'Wheel or pinch to zoom, drag to move, click to pin an entry, drag with Shift to select a range; drag over the strip to choose what is shown.',
  true: 'Drag to select a range.',
};

/**
 * @param {import('#wasm').Painter} painter
 * @param {object} on
 * @param {(window: {begin: number, end: number}) => void} on.window show these entries
 * @param {(entry: number | null) => void} on.hover
 * @param {(entry: number) => void} on.pin
 * @param {(allocation: number | null, kept: boolean) => void} on.point the allocation under the pointer; kept by a click
 * @param {(range: {begin: number, end: number} | null) => void} on.range select these entries
 * @param {(category: string | null) => void} on.emphasis
 * @param {(columns: number, rows: number) => void} on.size the picture has so many columns and rows of pixels
 * @param {() => void} on.help show the keys
 * @param {(forward: boolean) => void} on.stop go to the next step or failure
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
  const picture = pictureView(on);
  const rangeStory = rangeView({ ...on, zoomToRange });
  const legend = legendView(on);
  const hint = h('p', { class: 'hint' });
  const readout = readoutView(on);
  const table = tableView(painter);
  const tool = (name, title, act) => h('button', { type: 'button', class: 'icon-button', title, 'aria-label': title, onclick: act }, icon(name));
  const reset = tool('whole', 'Show everything (0)', () => on.window(whole()));
  const svg = tool('vector', 'Save the picture as SVG', () => ready() && save('svg'));
  const save = (kind) => saveChart({ kind, canvas, painter, state, options: { ...options(), withoutFolders: state.withoutFolders }, name: state.report.file.name });
  const tools = h(
    'div',
    { class: 'tools' },
    tool('image', 'Save the picture as PNG', () => ready() && save('png')),
    svg,
    tool('keys', 'Keys (?)', on.help),
    tool('minus', 'Zoom out (−)', () => zoomAtPin(1 / STEP)), tool('plus', 'Zoom in (+)', () => zoomAtPin(STEP)),
    reset,
  );
  const empty = h('p', { class: 'quiet' }, EMPTY);
  const chart = h(
    'div',
    {},
    picture.root,
    legend.root,
    frame,
    overview,
    hint,
    h('p', { class: 'unseen', id: 'timeline-help' }, HELP),
    rangeStory.root,
    readout.root,
    table.root,
  );
  const root = h(
    'section',
    { class: 'card', 'data-test': 'timeline-card', 'aria-labelledby': 'timeline-title' },
    h('div', { class: 'timeline-top' }, h('h2', { id: 'timeline-title' }, 'Timeline'), range, h('span', { class: 'space' }), tools),
    choice,
    chart,
    empty,
  );

  let state = null;
  let plot = null;
  let overviewPlot = null;
  let overviewIsOld = true;
  /** The window when a drag began, or the entry from which it selects. */
  let pressed = null;
  /** CSS pixels of the picture; asked for once a size, as asking has the browser lay out the page. */
  let size = { width: 0, height: 0, overview: 0 };
  let selectedFrom = null;
  /** The range while it is being drawn. */
  let draft = null;
  /** The allocation under a pointer is marked when the pointer rests: all its pixels are painted anew. */
  let resting = null;
  signal.addEventListener('abort', () => clearTimeout(resting));

  const length = () => state.whole?.view.length ?? 0;
  const whole = () => ({ begin: 0, end: length() });
  const isWhole = () => state.window.begin === 0 && state.window.end === length();
  const ready = () => plot !== null && state.whole !== null && state.shown !== null;
  const under = (x, window = state.window) => placeAt(plot, window.begin, window.end, x);
  const entryUnder = (x) => painter.entryOf(state.shown, under(x));
  const zoomed = (window, about, factor) => zoomedWindow(window.begin, window.end, length(), about, factor);
  const panned = (window, share) => pannedWindow(window.begin, window.end, length(), share);
  const middle = () => Math.floor((state.window.begin + state.window.end) / 2);
  const hasPixels = () => state.shown.layout !== null;

  function zoomAtPin(factor) {
    if (ready()) {
      const place = state.pinned === null ? undefined : painter.placeOf(state.shown, state.pinned);
      const isShown = place !== undefined && state.window.begin <= place && place < state.window.end;
      on.window(zoomed(state.window, isShown ? place : middle(), factor));
    }
  }

  function zoomToRange() {
    const [begin, end] = [state.range.begin, state.range.end - 1].map((entry) => painter.placeOf(state.whole, entry));
    on.window(windowBetween(begin, end, length()));
  }

  const draw = oncePerFrame(() => {
    const { width } = size;
    if (state === null || state.whole === null || state.shown === null || width === 0 || !canvas.isConnected) {
      return;
    }
    const look = { ratio: devicePixelRatio, dark: state.theme === 'dark', ...state.window };
    if (overviewIsOld) {
      overviewPlot = painter.drawOverview(overview, state.whole, { ...look, width, height: size.overview });
      overviewIsOld = false;
    }
    plot = painter.drawTimeline(canvas, state.shown, options());
    svg.disabled = hasPixels();
    canvas.dataset.begin = state.window.begin;
    canvas.dataset.end = state.window.end;
    moveCursor();
  });
  whenRestored(canvas, draw);
  whenRestored(overview, () => {
    overviewIsOld = true;
    draw();
  });

  function options() {
    return {
      ratio: devicePixelRatio,
      dark: state.theme === 'dark',
      ...state.window,
      ...size,
      selected: state.pinned,
      range: span(draft ?? state.range),
      marked: state.pointed ?? state.kept,
      emphasis: state.emphasis,
      lanes: overviewPlot.lanes,
    };
  }

  function moveCursor() {
    const place = state.hovered === null || !ready() ? undefined : painter.placeOf(state.shown, state.hovered);
    const x = place === undefined ? undefined : xOf(plot, state.window.begin, state.window.end, place);
    cursor.hidden = x === undefined;
    if (x !== undefined) {
      cursor.style.transform = `translateX(${x}px)`;
      cursor.style.top = `${plot.top}px`;
      cursor.style.height = `${plot.bottom - plot.top}px`;
    }
  }

  const measure = () => {
    const width = widthOf(frame);
    [canvas, overview].forEach((each) => {
      each.style.width = `${width}px`;
    });
    size = { width, height: canvas.clientHeight, overview: overview.clientHeight };
    overviewIsOld = true;
    draw();
    if (width > 0) {
      on.size(timelineColumns(width, devicePixelRatio), Math.round(size.height * devicePixelRatio));
    }
  };
  const sizes = new ResizeObserver(measure);
  sizes.observe(frame);
  signal.addEventListener('abort', () => sizes.disconnect());
  // Moved to a screen of another density, the element keeps its size.
  window.addEventListener('resize', measure, { signal });

  const point = (x, y, kept) => {
    if (hasPixels()) {
      on.point(x === null ? null : (painter.allocationAt(state.shown, x, y) ?? null), kept);
    }
  };

  const gestures = {
    hover(x, y) {
      if (ready()) {
        on.hover(x === null ? null : entryUnder(x));
        point(x, y, false);
      }
    },
    tap(x, y) {
      if (ready()) {
        on.pin(entryUnder(x));
        point(x, y, true);
      }
    },
    press(x, shift) {
      pressed = state.window;
      selectedFrom = (shift || state.selecting) && ready() ? entryUnder(x) : null;
    },
    drag(from, to) {
      if (!ready()) {
        return;
      }
      if (selectedFrom === null) {
        on.window(panned(pressed, (from - to) / (plot.right - plot.left)));
      } else {
        const entry = entryUnder(to);
        draft = { begin: Math.min(selectedFrom, entry), end: Math.max(selectedFrom, entry) + 1 };
        draw();
      }
    },
    release() {
      if (draft !== null) {
        on.range(draft);
        draft = null;
      }
    },
    pinch: (from, to, factor) =>
      ready() && on.window(panned(zoomed(pressed, under(from, pressed), factor), (from - to) / (plot.right - plot.left))),
    zoom: (x, factor) => ready() && on.window(zoomed(state.window, under(x), factor)),
    scroll: (px) => ready() && on.window(panned(state.window, px / (plot.right - plot.left))),
    canZoomOut: () => ready() && !isWhole(),
  };
  listen(canvas, gestures, signal);
  canvas.addEventListener('dblclick', () => ready() && on.window(whole()));
  canvas.addEventListener('keydown', (event) => {
    const isPlain = !event.altKey && !event.ctrlKey && !event.metaKey;
    if (isPlain && key(event.key)) {
      event.preventDefault();
    }
  });

  /** Does what a key means, and answers whether it means anything. */
  function key(name) {
    const act = KEYS[name];
    if (act === undefined || !ready()) {
      return false;
    }
    act();
    return true;
  }
  const step = (by) => {
    const from = state.pinned ?? painter.entryOf(state.shown, middle());
    on.pin(Math.min(Math.max(from + by, 0), state.whole.view.entries - 1));
  };
  const KEYS = {
    '+': () => zoomAtPin(STEP),
    '=': () => zoomAtPin(STEP),
    '-': () => zoomAtPin(1 / STEP),
    _: () => zoomAtPin(1 / STEP),
    0: () => on.window(whole()),
    Escape: () => (state.range === null ? on.window(whole()) : on.range(null)),
    w: () => zoomAtPin(STEP),
    s: () => zoomAtPin(1 / STEP),
    a: () => on.window(panned(state.window, -PAN)),
    d: () => on.window(panned(state.window, PAN)),
    '[': () => on.stop(false),
    ']': () => on.stop(true),
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
    placeAt: (x) => placeAt(overviewPlot, 0, length(), x),
    xOf: (place) => xOf(overviewPlot, 0, length(), Math.min(place, length() - 1)),
    between: (one, other) => on.window(windowBetween(one, other, length())),
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
      picture.update(state, changed);
      hint.textContent = HINTS[state.selecting];
      canvas.classList.toggle('selecting', state.selecting);
      rangeStory.update(state, changed);
      legend.update(state, changed);
      readout.update(state, changed);
      table.update(state, changed);
      if (changed.has('window') || changed.has('whole') || changed.has('shown')) {
        tellRange();
      }
      overviewIsOld ||= ['whole', 'window', 'theme'].some((key) => changed.has(key));
      if (['whole', 'shown', 'window', 'pinned', 'range', 'kept', 'emphasis', 'theme'].some((key) => changed.has(key))) {
        draw();
      } else if (changed.has('pointed')) {
        clearTimeout(resting);
        resting = setTimeout(draw, REST_MS);
      }
      if (changed.has('hovered')) {
        moveCursor();
      }
    },
    key,
    focus() {
      canvas.focus({ preventScroll: true });
      root.scrollIntoView({ block: 'nearest' });
    },
  };

  function tellRange() {
    if (state.whole === null) {
      return;
    }
    const total = state.whole.view.entries;
    const { along, shown_entries: entries, time_us: times } = (state.shown ?? state.whole).view;
    const [begin, end] = along === 'time' ? entries : [state.window.begin, state.window.end];
    const isEmpty = along === 'time' && begin === end;
    const words = isEmpty ? `No entry in this time; ${countText(total)} in all` : isWhole() ? everything(total) : `Entries ${countText(begin)} to ${countText(Math.max(end, begin + 1) - 1)} of ${countText(total)}`;
    fill(range, words, times && times[1] > times[0] && ` · ${duration(times[1] - times[0])}`);
    canvas.setAttribute('aria-label', `${TITLES[state.picture]}. ${words}.`);
    reset.disabled = isWhole();
  }
}

const TITLES = {
  category: 'Allocated memory by category',
  line: 'Allocated memory by the line that made it',
  heap: 'Allocated memory, each allocation upon those made before it',
  addresses: 'Device memory by address, each allocation where it lay',
};

function span(range) {
  return range === null ? null : [range.begin, range.end];
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
