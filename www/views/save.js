/** Files made of what is shown. */
import { h } from './dom.js';

/** Saves what a canvas shows, drawn anew: as `kind`, `png` with the surface behind it or `svg`. */
export async function saveChart({ kind, canvas, painter, state, options, name }) {
  const base = baseOf(name);
  if (kind === 'svg') {
    saveBlob(new Blob([painter.timelineSvg(state.shown, options)], { type: 'image/svg+xml' }), `${base}.svg`);
    return;
  }
  const drawn = h('canvas');
  painter.drawTimeline(drawn, state.shown, options);
  const copy = h('canvas', { width: drawn.width, height: drawn.height });
  const context = copy.getContext('2d');
  context.fillStyle = getComputedStyle(canvas).getPropertyValue('--surface');
  context.fillRect(0, 0, copy.width, copy.height);
  context.drawImage(drawn, 0, 0);
  saveBlob(await new Promise((resolve) => copy.toBlob(resolve)), `${base}.png`);
}

/** A file's name without the endings of its wrapping. */
export function baseOf(name) {
  return name.replace(/\.(pickle|pkl|json|xz|gz|zst|zip)/g, '');
}

/** Hands a blob to the browser as a file of this name. */
export function saveBlob(blob, name) {
  const url = URL.createObjectURL(blob);
  h('a', { href: url, download: name }).click();
  // The browser has taken it by the next task or so; a minute is long past it.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
