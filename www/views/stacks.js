/** Bytes of the selection by stack: an icicle, the frame under the pointer in words, and a table. */
import { IciclePainter } from '#wasm';
import { Latest } from '../latest.js';
import { SELECTING, selectionOf } from '../state.js';
import { swatch } from './bar.js';
import { choiceView } from './choice.js';
import { fill, h, oncePerFrame, whenRestored } from './dom.js';
import { copyPlaceButton } from './folders.js';
import { bytes, bytesText, countText, percent } from './format.js';
import { place, stackView } from './stack.js';
import { treeTableView } from './treetable.js';
import { onSight } from './sight.js';

const POINT = 'Point at a frame to read it. A click zooms in; Escape, or the path above, leads back.';
const COLOURS = 'A frame has the colour of the category with most of its bytes, as in the timeline.';
const NO_STACKS = 'None of these allocations has a stack in the file, so only the reasons are told apart. Recording with `stacks="all"` keeps them.';
const DIRECTIONS = [
  [false, 'Top-down', 'From the outermost frame to the line that allocated'],
  [true, 'Bottom-up', 'From the line that allocated to its callers'],
];
const FRAMES = [
  ['user', 'Your code', 'Library and native frames are left out'],
  ['python', 'With libraries', 'All Python frames'],
  ['all', 'All frames', 'Python and native frames, in the order of the file'],
];
const STEPS = { ArrowUp: 'up', ArrowDown: 'down', ArrowLeft: 'left', ArrowRight: 'right' };
const WHOLE = { node: 0, nodes: 1 };

/**
 * @param {object} on
 * @param {(kind: string, payload: object) => Promise<any>} on.ask the worker
 * @param {AbortSignal} signal ends all listening outside of the view
 */
export function stacksView(on, signal) {
  const directions = choiceView('Direction', DIRECTIONS, (bottomUp) => reshape({ bottomUp }));
  const frames = choiceView('Frames', FRAMES, (which) => reshape({ frames: which }));
  const total = h('p', { class: 'quiet total', 'data-test': 'stacks-total' });
  const crumbs = h('nav', { class: 'crumbs', 'aria-label': 'Path to the frame shown', 'data-test': 'crumbs' });
  const canvas = h('canvas', { class: 'icicle', 'data-test': 'icicle', tabindex: '0', role: 'application', 'aria-roledescription': 'icicle', 'aria-describedby': 'icicle-help' });
  const mark = h('div', { class: 'map-mark', hidden: true });
  const frame = h('div', { class: 'canvas-frame' }, canvas, h('div', { class: 'map-marks', 'aria-hidden': 'true' }, mark));
  const scroller = h('div', { class: 'icicle-scroller' }, frame);
  const note = h('p', { class: 'quiet', 'data-test': 'stacks-note' });
  const readout = h('div', { class: 'readout', 'data-test': 'stacks-readout', 'aria-live': 'polite' });
  const table = treeTableView();
  const help = h('p', { class: 'unseen', id: 'icicle-help' }, 'The arrow keys go from frame to frame, Enter zooms in, Escape leads back.');
  const chart = h('div', {}, crumbs, scroller, help, readout, table.root);
  const root = h('div', { class: 'stacks' }, h('div', { class: 'panel-top' }, directions.root, frames.root, h('span', { class: 'space' }), total), note, chart);

  let state = null;
  let shape = { bottomUp: false, frames: 'user' };
  let zoomed = 0;
  let answer = null;
  let picture = null;
  /** The cell that the keyboard is on. */
  let walked = 0;
  let hovered = null;
  /** The nodes read out. */
  let read = null;

  const width = () => Math.floor(frame.getBoundingClientRect().width);
  const stacks = new Latest((wanted) => on.ask('stacks', wanted), show, failed);
  const nodes = new Latest((wanted) => on.ask('stackNode', wanted), tell, failed);

  function ask() {
    if (state !== null && width() > 0) {
      stacks.want({ selection: selectionOf(state), shape, root: zoomed, widthPx: Math.round(width() * devicePixelRatio) });
    }
  }

  function reshape(change) {
    shape = { ...shape, ...change };
    showShape();
    restart();
  }

  function showShape() {
    directions.choose(shape.bottomUp);
    frames.choose(shape.frames);
  }

  function restart() {
    zoomed = 0;
    ask();
  }

  function zoom(node) {
    if (node !== zoomed) {
      zoomed = node;
      ask();
    }
  }

  const back = () => zoom(answer.head.crumbs.at(-2)?.node ?? 0);

  /** Zooms to a cell: into a frame, out of the topmost, and for several that share a cell to their caller. */
  function enter(cell) {
    if (cell === 0) {
      back();
    } else {
      zoom(answer.node[answer.nodes[cell] > 1 ? picture.next(cell, 'up') : cell]);
    }
  }

  function show(next) {
    if (next === null) {
      return;
    }
    answer = next;
    picture?.free();
    picture = new IciclePainter(answer);
    walked = 0;
    hovered = null;
    const { head, icicle } = answer;
    total.textContent = `${bytesText(head.bytes)} in ${head.count === 1 ? 'one allocation' : `${countText(head.count)} allocations`}`;
    canvas.setAttribute('aria-label', `Bytes by stack: ${total.textContent}.`);
    chart.hidden = head.count === 0;
    const words = head.count === 0 ? 'Nothing is counted here.' : !head.has_frames ? NO_STACKS.replaceAll('`', '') : icicle.is_cut ? 'There are more frames below the last row; zoom in to see them.' : '';
    note.textContent = words;
    note.hidden = words === '';
    fill(crumbs, head.crumbs.map((crumb, at) => step(crumb, at === head.crumbs.length - 1)));
    crumbs.hidden = head.crumbs.length < 2;
    table.show(head.rows);
    readCell(null);
    draw();
  }

  function step({ node, name, place: where }, isLast) {
    const words = node === 0 ? 'All' : name;
    return isLast ? h('span', { 'aria-current': 'true', title: where }, words) : h('button', { type: 'button', class: 'link', title: where, onclick: () => zoom(node) }, words);
  }

  const draw = oncePerFrame(() => {
    const css = width();
    if (picture === null || css === 0 || !canvas.isConnected) {
      return;
    }
    const height = picture.height();
    canvas.style.width = `${css}px`;
    canvas.style.height = `${height}px`;
    picture.draw(canvas, { width: css, height, ratio: devicePixelRatio, dark: state.theme === 'dark' });
    canvas.dataset.root = zoomed;
    canvas.dataset.cells = answer.node.length;
    moveMark();
  });
  whenRestored(canvas, draw);

  function moveMark() {
    const cell = hovered ?? walked;
    const at = picture?.place(width(), cell);
    mark.hidden = !at || (hovered === null && !canvas.matches(':focus-visible'));
    for (const [side, px] of Object.entries(at ?? {})) {
      mark.style[side] = `${px}px`;
    }
  }

  /** Reads out a cell; without one, what the picture is zoomed to. */
  function readCell(cell) {
    const wanted = cell === null ? { ...WHOLE, node: zoomed } : { node: answer.node[cell], nodes: answer.nodes[cell] };
    if (wanted.node !== read?.node || wanted.nodes !== read?.nodes || cell === null) {
      read = wanted;
      nodes.want(wanted);
    }
  }

  function tell(reading) {
    if (reading === null) {
      return;
    }
    const { name, file, line, category, category_label: label, count, share, own_bytes: own, frames: stack } = reading;
    const isWhole = read?.node === 0;
    fill(
      readout,
      h(
        'div',
        { class: 'readout-facts' },
        h('p', { class: 'readout-title' }, h('strong', {}, isWhole ? 'All that is counted' : name)),
        file !== '' && h('p', { class: 'map-line' }, place({ file, line, name }), copyPlaceButton({ file, line })),
        h('p', {}, bytes(reading.bytes), ` in ${count === 1 ? 'one allocation' : `${countText(count)} allocations`}`, !isWhole && `, ${percent(share, 1)} of all`),
        own > 0 && own < reading.bytes && h('p', { class: 'quiet' }, bytes(own), ' of it not in the frames below'),
        h('p', {}, reading.bytes > 0 && ['mostly', swatch(category), label]),
        isWhole && [h('p', { class: 'quiet' }, POINT), h('p', { class: 'quiet' }, COLOURS)],
      ),
      h('div', { class: 'readout-stack' }, stack.length > 0 && h('p', { class: 'quiet' }, 'Its heaviest stack, innermost frame first'), stackView(stack)),
    );
    readout.scrollTop = 0;
  }

  function failed(error) {
    note.textContent = error.message;
    note.hidden = false;
  }

  function under(event) {
    const box = canvas.getBoundingClientRect();
    return picture?.cellAt(width(), event.clientX - box.left, event.clientY - box.top) ?? null;
  }

  function hover(cell) {
    if (cell !== hovered) {
      hovered = cell;
      moveMark();
      readCell(cell);
      canvas.classList.toggle('on-cell', cell !== null);
    }
  }

  canvas.addEventListener('pointermove', (event) => hover(under(event)));
  canvas.addEventListener('pointerleave', () => hover(null));
  canvas.addEventListener('click', (event) => {
    const cell = under(event);
    if (cell !== null) {
      enter(cell);
    }
  });
  canvas.addEventListener('focus', moveMark);
  canvas.addEventListener('blur', moveMark);
  canvas.addEventListener('keydown', (event) => {
    if (picture === null || event.altKey || event.ctrlKey || event.metaKey) {
      return;
    }
    if (event.key in STEPS) {
      walked = picture.next(walked, STEPS[event.key]);
      hovered = null;
      moveMark();
      mark.scrollIntoView({ block: 'nearest' });
      readCell(walked);
    } else if (event.key === 'Enter' && walked !== 0) {
      enter(walked);
    } else if (event.key === 'Escape' && zoomed !== 0) {
      back();
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  });

  showShape();
  const isSeen = onSight(root, measure, signal);
  function measure() {
    if (isSeen()) {
      ask();
    }
    draw();
  }
  const sizes = new ResizeObserver(measure);
  sizes.observe(frame);
  signal.addEventListener('abort', () => {
    sizes.disconnect();
    picture?.free();
  });

  return {
    root,
    update(next, changed) {
      state = next;
      if (SELECTING.some((key) => changed.has(key)) && isSeen()) {
        restart();
      }
      if (changed.has('theme')) {
        draw();
      }
    },
  };
}
