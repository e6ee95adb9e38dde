/** Both runs over one axis: a picture, its legend, and the same as a table. */
import { drawCourses } from '#wasm';
import { signed } from './difference.js';
import { h, oncePerFrame, whenRestored } from './dom.js';
import { bytes } from './format.js';
import { icon } from './icons.js';

/** @param {object} course of the comparison */
export function courseView(course) {
  const [a, b] = course.lines;
  const canvas = h('canvas', { class: 'course', 'data-test': 'course', role: 'img', 'aria-label': `Allocated memory of ${a.name} and ${b.name} over time; the table below says the same.` });
  const frame = h('div', { class: 'canvas-frame' }, canvas);
  const root = h(
    'section',
    { class: 'card', 'aria-labelledby': 'course' },
    h('h2', { id: 'course' }, 'Both over time'),
    h('p', { class: 'quiet' }, course.note),
    h('div', { class: 'legend' }, h('span', { class: 'key' }, h('span', { class: 'line-swatch first' }), a.name), h('span', { class: 'key' }, h('span', { class: 'line-swatch second' }), b.name)),
    frame,
    table(course),
  );
  let isDark = false;
  const draw = oncePerFrame(() => {
    const width = frame.clientWidth;
    if (width > 0) {
      canvas.style.width = `${width}px`;
      drawCourses(canvas, course, { width, height: canvas.clientHeight, ratio: devicePixelRatio, dark: isDark });
      canvas.dataset.drawn = '';
    }
  });
  whenRestored(canvas, draw);
  const sizes = new ResizeObserver(draw);
  sizes.observe(frame);

  return {
    root,
    update({ theme }, changed) {
      if (changed.has('theme')) {
        isDark = theme === 'dark';
        draw();
      }
    },
    close: () => sizes.disconnect(),
  };
}

function table({ lines, rows }) {
  const cell = (size) => h('td', { class: 'number' }, size === null ? 'ended' : bytes(size));
  return h(
    'details',
    { class: 'twin' },
    h('summary', {}, icon('chevron'), 'The same as a table'),
    h(
      'div',
      { class: 'scroller' },
      h(
        'table',
        { class: 'differences' },
        h('caption', {}, 'The most that was allocated'),
        h('thead', {}, h('tr', {}, h('th', { scope: 'col' }, 'When'), lines.map(({ name }) => h('th', { scope: 'col', class: 'number' }, name)), h('th', { scope: 'col', class: 'number' }, 'Difference'))),
        h('tbody', {}, rows.map(({ label, bytes: [before, after] }) => h('tr', {}, h('th', { scope: 'row' }, label), cell(before), cell(after), h('td', { class: 'number' }, before !== null && after !== null && signed(after - before))))),
      ),
    ),
  );
}
