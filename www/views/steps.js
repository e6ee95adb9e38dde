/** The steps: what each began from and rose to, as bars and as a table; one that is chosen becomes the range. */
import { stepColumns, StepsPainter } from '#wasm';
import { Latest } from '../latest.js';
import { swatch } from './bar.js';
import { fill, h, oncePerFrame, whenRestored } from './dom.js';
import { bytes, bytesText, countText, duration, percent } from './format.js';
import { rowsView } from './rows.js';

const HEIGHT_PX = 180;
const DURATION = 'Duration';

const COLUMNS = [
  { label: 'Step', width: '72px', from: 0, className: 'number', cell: (row) => countText(row.number) },
  { label: 'Kind', width: '112px', from: 560, cell: (row) => row.kind },
  { label: 'Entries', width: 'minmax(150px, 1fr)', from: 700, className: 'number', cell: (row) => `${countText(row.begin)}–${countText(row.end - 1)}` },
  { label: 'Baseline', width: 'minmax(88px, 1fr)', from: 0, className: 'number', title: 'Least allocated in the step', cell: (row) => bytes(row.baseline_bytes) },
  { label: 'Growth', width: 'minmax(96px, 1fr)', from: 460, className: 'number', title: 'The baseline against that of the step before', cell: (row) => row.growth },
  { label: 'Peak', width: 'minmax(88px, 1fr)', from: 0, className: 'number', title: 'Most allocated in the step', cell: (row) => [bytes(row.peak_bytes), row.failed && h('span', { class: 'failed', title: 'A request failed in this step' }, 'oom')] },
  { label: 'Mostly', width: 'minmax(190px, 1.4fr)', from: 860, title: 'What fills the peak most', cell: (row) => [swatch(row.category), `${row.category_label}, ${percent(row.category_share, 1)}`] },
  { label: DURATION, width: 'minmax(84px, 1fr)', from: 980, className: 'number', cell: (row) => row.duration_us !== null && duration(row.duration_us) },
];

/**
 * @param {object} on
 * @param {(kind: string, payload: object) => Promise<any>} on.ask the worker
 * @param {(range: {begin: number, end: number}) => void} on.range
 * @param {(window: {begin: number, end: number}) => void} on.window show these entries
 * @param {AbortSignal} signal
 */
export function stepsView(on, signal) {
  const note = h('p', { class: 'quiet', 'data-test': 'steps-note' });
  const canvas = h('canvas', { class: 'steps-chart', 'data-test': 'steps-chart', role: 'img' });
  const mark = h('div', { class: 'step-mark', hidden: true });
  const said = h('p', { class: 'quiet hint', 'data-test': 'step-said' });
  const frame = h('div', { class: 'canvas-frame' }, canvas, h('div', { class: 'map-marks', 'aria-hidden': 'true' }, mark));
  const legend = h(
    'div',
    { class: 'legend' },
    h('span', { class: 'key' }, swatch('reserved'), 'baseline: least allocated in the step'),
    h('span', { class: 'key' }, 'above it: what the step adds at its peak, in the colour of the largest category'),
    h('span', { class: 'key' }, swatch('failure'), 'a request failed'),
  );
  const rows = rowsView('Steps', COLUMNS, { rows: (from, to) => on.ask('stepRows', { from, to }), choose, isChosen, failed }, signal);
  const chart = h('div', {}, legend, frame, said, rows.root);
  const root = h('div', { class: 'steps' }, note, chart);

  let state = null;
  let asked = null;
  let picture = null;
  let count = 0;
  let hovered = null;

  const width = () => Math.floor(frame.getBoundingClientRect().width);
  const steps = new Latest((wanted) => on.ask('steps', wanted), show, failed);
  const one = new Latest((at) => on.ask('stepRows', { from: at.step, to: at.step + 1 }), ([row], at) => at.step === hovered && say(row), failed);

  function load() {
    const columns = width() > 0 ? stepColumns(width(), devicePixelRatio) : 0;
    if (state !== null && columns > 0 && columns !== asked) {
      asked = columns;
      steps.want({ columns });
    }
    draw();
  }

  function show(answer) {
    if (answer === null) {
      return;
    }
    const isNew = answer.count !== count || picture === null;
    count = answer.count;
    picture?.free();
    picture = new StepsPainter(answer.picture);
    note.textContent = answer.note;
    note.hidden = answer.note === '';
    chart.classList.toggle('empty', count === 0);
    canvas.setAttribute('aria-label', `Baseline and peak of ${countText(count)} steps; the table below has the numbers.`);
    hover(null);
    if (isNew) {
      rows.show(count, answer.has_clock ? [] : [DURATION]);
    }
    draw();
  }

  const draw = oncePerFrame(() => {
    const css = width();
    if (picture === null || css === 0 || count === 0) {
      return;
    }
    canvas.style.width = `${css}px`;
    canvas.style.height = `${HEIGHT_PX}px`;
    picture.draw(canvas, { width: css, height: HEIGHT_PX, ratio: devicePixelRatio, dark: state.theme === 'dark' });
    canvas.dataset.steps = count;
    moveMark();
  });
  whenRestored(canvas, draw);

  function moveMark() {
    const at = hovered === null ? null : picture?.place(hovered);
    mark.hidden = !at;
    for (const [side, px] of Object.entries(at ?? {})) {
      mark.style[side] = `${px}px`;
    }
  }

  function hover(step) {
    hovered = step;
    canvas.classList.toggle('on-cell', step !== null);
    moveMark();
    if (step === null) {
      one.drop();
      said.textContent = 'Point at a step to read it; a click makes it the range that all views count.';
    } else {
      one.want({ step });
    }
  }

  function say({ number, kind, baseline_bytes: baseline, peak_bytes: peak, growth, category_label: label, category_share: share, failed: isFailed }) {
    said.textContent = `Step ${countText(number)}, ${kind}: from ${bytesText(baseline)}${growth === '' ? '' : ` (${growth})`} to ${bytesText(peak)}, ${percent(share, 1)} of it ${label}${isFailed ? '; a request failed' : ''}`;
  }

  function choose({ begin, end }) {
    on.range({ begin, end });
    // Places of an axis of time are no entries; the range is marked there all the same.
    if (state.along === 'entries') {
      on.window({ begin, end });
    }
  }

  function isChosen({ begin, end }) {
    return state?.range?.begin === begin && state.range.end === end;
  }

  function failed(error) {
    note.textContent = error.message;
    note.hidden = false;
  }

  const under = (event) => picture?.stepAt(event.clientX - canvas.getBoundingClientRect().left) ?? null;
  canvas.addEventListener('pointermove', (event) => {
    const step = under(event);
    if (step !== hovered) {
      hover(step);
    }
  });
  canvas.addEventListener('pointerleave', () => hover(null));
  canvas.addEventListener('click', (event) => {
    const step = under(event);
    if (step !== null) {
      rows.choose(step);
    }
  });

  const sizes = new ResizeObserver(load);
  sizes.observe(frame);
  signal.addEventListener('abort', () => {
    sizes.disconnect();
    picture?.free();
  });

  return {
    root,
    update(next, changed) {
      state = next;
      if (changed.has('report') || changed.has('device')) {
        asked = null;
        picture?.free();
        picture = null;
        load();
      }
      if (changed.has('range')) {
        rows.redraw();
      }
      if (changed.has('theme')) {
        draw();
      }
    },
  };
}
