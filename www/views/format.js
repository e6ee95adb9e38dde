/** Numbers for people. The module must be there: nothing with a number is shown before. */
import { bytesText, countText } from '#wasm';
import { h } from './dom.js';

/** Bytes as PyTorch writes them, with the exact number on demand. */
export function bytes(count) {
  return h('span', { class: 'bytes', title: `${countText(count)} bytes` }, bytesText(count));
}

export { bytesText, countText };

/** A part of a whole: `79 %`; small parts keep a digit. */
export function percent(part, whole) {
  const share = whole > 0 ? (100 * part) / whole : 0;
  if (share > 0 && share < 0.1) {
    return '< 0.1 %';
  }
  return `${share < 10 ? share.toFixed(1).replace(/\.0$/, '') : Math.round(share)} %`;
}

/** A span of time: `340 µs`, `12.5 ms`, `3.2 s`, `4 min 10 s`. */
export function duration(us) {
  if (us < 1000) {
    return `${Math.round(us)} µs`;
  }
  if (us < 1e6) {
    return `${(us / 1e3).toPrecision(3)} ms`;
  }
  if (us < 6e7) {
    return `${(us / 1e6).toPrecision(3)} s`;
  }
  return `${Math.floor(us / 6e7)} min ${Math.round((us % 6e7) / 1e6)} s`;
}

/** A moment of the day, to the millisecond, in the reader's own zone; the date on demand. */
export function clock(us) {
  const date = new Date(us / 1000);
  const pad = (number, digits = 2) => String(number).padStart(digits, '0');
  const time = `${pad(date.getHours())}:${pad(date.getMinutes())}:${pad(date.getSeconds())}.${pad(date.getMilliseconds(), 3)}`;
  return h('time', { datetime: date.toISOString(), title: date.toString() }, time);
}
