/** The memory map: segments and blocks after the pinned entry, and what keeps memory from being used. */
import { swatch } from './bar.js';
import { fill, h, oncePerFrame, prose, whenRestored } from './dom.js';
import { copyPlaceButton } from './folders.js';
import { bytesText, countText } from './format.js';
import { onSight } from './sight.js';
import { place, stackView } from './stack.js';

const POINT = 'Point at the map to read a block, click to keep it.';
const KEYS = ' With the keyboard, the arrow keys go from block to block.';
const STEPS = { ArrowLeft: 'before', ArrowRight: 'after', ArrowUp: 'segment-before', ArrowDown: 'segment-after' };
const WHY =
  'The driver takes a segment back only when nothing in it is in use, and a request must fit into one hole. In these segments at least half is idle:';

/**
 * @param {import('#wasm').Painter} painter
 * @param {object} on
 * @param {(widthPx: number) => void} on.map show the map in rows of so many pixels, from now on
 * @param {(place: {row: number, xPx: number} | null) => void} on.block read what lies there
 * @param {AbortSignal} signal ends all listening outside of the view
 */
export function blocksView(painter, on, signal) {
  const canvas = h('canvas', { class: 'map', 'data-test': 'map', tabindex: '0', role: 'application', 'aria-roledescription': 'memory map', 'aria-label': 'Memory map', 'aria-describedby': 'map-help' });
  const help = h('p', { class: 'unseen', id: 'map-help' }, 'Left and right go from block to block, up and down from segment to segment, Escape lets go.');
  const marks = h('div', { class: 'map-marks', 'aria-hidden': 'true' });
  const frame = h('div', { class: 'canvas-frame' }, canvas, marks);
  const moment = h('p', { class: 'range', 'data-test': 'map-moment' });
  const request = h('p', { class: 'map-request' });
  const scale = h('p', { class: 'quiet' });
  const legend = h('div', { class: 'legend' });
  const notes = h('div', { class: 'map-notes quiet' });
  const readout = h('div', { class: 'readout map-readout', 'data-test': 'map-readout' });
  const pins = h('div', { class: 'pins', 'data-test': 'pins' });
  const root = h(
    'section',
    { class: 'card', 'data-test': 'memory-map', 'aria-labelledby': 'memory-map' },
    h('div', { class: 'timeline-top' }, h('h2', { id: 'memory-map' }, 'Memory map'), moment),
    scale,
    request,
    legend,
    frame,
    help,
    notes,
    readout,
    pins,
  );

  let state = null;
  let kept = null;
  /** What the pointer is on, as asked for last; a hovering pointer asks once a pixel. */
  let asked = null;

  const width = () => Math.floor(frame.getBoundingClientRect().width);

  const draw = oncePerFrame(() => {
    const css = width();
    if (!state?.map || css === 0 || !canvas.isConnected) {
      return;
    }
    const height = painter.mapHeight(state.map, css);
    canvas.style.width = `${css}px`;
    canvas.style.height = `${height}px`;
    painter.drawMap(canvas, state.map, { width: css, height, ratio: devicePixelRatio, dark: state.theme === 'dark', emphasis: state.emphasis });
    canvas.dataset.entry = state.map.story.entry;
    showMarks();
  });
  whenRestored(canvas, draw);

  function showMarks() {
    const pieces = state.block?.pieces ?? [];
    // A block of many rows is marked in the first; the rest is plain to see.
    const shown = pieces.slice(0, 64).map(([row, left, right]) => {
      const at = painter.mapRowPlace(state.map, width(), row);
      return at && { left: left / devicePixelRatio, top: at.top, width: (right - left) / devicePixelRatio, height: at.bottom - at.top };
    });
    fill(
      marks,
      shown.map((at) => {
        const mark = at && h('div', { class: 'map-mark' });
        if (mark) {
          Object.entries(at).forEach(([side, px]) => {
            mark.style[side] = `${px}px`;
          });
        }
        return mark;
      }),
    );
  }

  // A map takes a while for a long trace, so the first comes when somebody looks.
  const isSeen = onSight(root, measure, signal);
  function measure() {
    if (isSeen() && width() > 0) {
      on.map(Math.round(width() * devicePixelRatio));
    }
    draw();
  }
  const sizes = new ResizeObserver(measure);
  sizes.observe(frame);
  signal.addEventListener('abort', () => sizes.disconnect());

  function under(event) {
    const box = canvas.getBoundingClientRect();
    const x = event.clientX - box.left;
    const row = state?.map ? painter.mapRowAt(state.map, width(), event.clientY - box.top) : undefined;
    return row === undefined || x < 0 ? null : { row, xPx: Math.floor(x * devicePixelRatio) };
  }

  function ask(at) {
    if (at?.row !== asked?.row || at?.xPx !== asked?.xPx) {
      asked = at;
      on.block(at);
    }
  }

  canvas.addEventListener('pointermove', (event) => {
    // A pointer on its way would have a screen reader never stop.
    readout.setAttribute('aria-live', 'off');
    ask(under(event) ?? kept);
  });
  canvas.addEventListener('pointerleave', () => ask(kept));
  canvas.addEventListener('click', (event) => {
    kept = under(event);
    ask(kept);
  });
  canvas.addEventListener('keydown', (event) => {
    if (!state?.map || event.altKey || event.ctrlKey || event.metaKey) {
      return;
    }
    if (event.key in STEPS) {
      walk(STEPS[event.key]);
    } else if (event.key === 'Escape' && kept !== null) {
      kept = null;
      ask(null);
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  });

  /** To the block beside the one read; a key held down waits for each to be read. */
  function walk(step) {
    const next = painter.mapNext(state.map, state.block?.pieces ?? [], step);
    if (next) {
      readout.setAttribute('aria-live', 'polite');
      kept = next;
      ask(kept);
    }
  }

  function tell({ story }) {
    const { entry, reserved_bytes: reserved, idle_bytes: idle, segments } = story;
    const recorded = state.report.devices.find(({ device }) => device === story.device)?.entries ?? 0;
    const when = recorded === 0 ? 'At the end' : `After entry ${countText(entry)}`;
    const words = `${when} · ${bytesText(reserved)} in ${segments === 1 ? 'one segment' : `${countText(segments)} segments`}, ${bytesText(idle)} of it idle`;
    moment.textContent = words;
    scale.textContent = `Each frame is a segment, a range that PyTorch got from the driver, with the blocks in it. A full row is ${bytesText(story.row_bytes)}; a longer segment goes on in the next.`;
    canvas.setAttribute('aria-label', `Memory map. ${words}. ${story.pools.map(({ label, size_note: size, hole_note: holes }) => `${label}: ${size}, ${holes}.`).join(' ')}`);
    request.hidden = story.request === null;
    request.textContent = story.request ?? '';
    fill(legend, story.keys.map(({ key, label }) => h('span', { class: `key ${key}` }, swatch(key), label)));
    fill(notes, story.notes.map((note) => h('p', {}, prose(note))));
    tellPins(story.pins);
  }

  function tellPins({ pins: all, others, other_idle_bytes: rest }) {
    pins.hidden = all.length === 0;
    fill(
      pins,
      h('h3', {}, 'What keeps memory idle'),
      h('p', { class: 'quiet' }, WHY),
      h(
        'ul',
        {},
        all.map(({ sentence, category }) => h('li', {}, swatch(category), h('span', {}, prose(sentence)))),
        others > 0 && h('li', { class: 'quiet' }, h('span', {}, `${countText(others)} more ${others === 1 ? 'line keeps' : 'lines keep'} ${bytesText(rest)} idle in the same way.`)),
      ),
    );
  }

  return {
    root,
    update(next, changed) {
      state = next;
      if (changed.has('report') || changed.has('device')) {
        kept = null;
        asked = null;
        fill(readout, pointer());
      }
      if (changed.has('map') && state.map) {
        kept = null;
        asked = null;
        tell(state.map);
      }
      if (changed.has('block')) {
        fill(readout, state.block === null ? pointer() : reading(state.block));
        readout.scrollTop = 0;
        if (state.map) {
          showMarks();
          if (state.block !== null && canvas.matches(':focus-visible')) {
            marks.firstElementChild?.scrollIntoView({ block: 'nearest' });
          }
        }
      }
      if (['map', 'theme', 'emphasis'].some((key) => changed.has(key))) {
        draw();
      }
    },
  };
}

function pointer() {
  return h('p', { class: 'quiet' }, POINT, h('span', { class: 'with-keys' }, KEYS));
}

function reading(block) {
  const { title, facts, category, category_label: label, file, line, function: name, segment, frames } = block;
  return [
    h(
      'div',
      { class: 'readout-facts' },
      h('p', { class: 'readout-title' }, h('strong', {}, title), category && h('span', {}, swatch(category), label)),
      name !== '' && h('p', { class: 'map-line' }, place({ file, line, name }), file !== '' && copyPlaceButton({ file, line })),
      facts.map((fact) => h('p', { class: 'quiet' }, fact)),
      h('p', { class: 'quiet' }, segment),
    ),
    category && h('div', { class: 'readout-stack' }, stackView(frames)),
  ];
}
