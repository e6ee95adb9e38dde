/**
 * One HTML file of the offline page with a snapshot inside, written and read.
 *
 * The page holds one element for it, which no browser runs and no policy stops: the snapshot in
 * base64, packed as it was or with gzip, and in base64 too its name and the fragment of an address
 * that leads to the view (see `link.js`). `container/saved.rs` reads and writes the same. A snapshot may have
 * hundreds of megabytes, so nothing but the element itself holds all of it as one text.
 */
import { base64Of, bytesOf } from './base64.js';

const OPENING = '<script type="application/octet-stream" id="oomscope-snapshot"';
/** The element of a page without a snapshot. */
const EMPTY = `${OPENING}></script>`;

/** Wrappings that gzip would not make smaller. */
const PACKED = new Set(['gzip', 'xz', 'zstd', 'zip']);

/** What is turned into base64 and back at a time: of three bytes each four letters, so that the parts join. */
const PIECE_BYTES = 3 << 20;
const PIECE_LETTERS = 4 << 20;

/**
 * The page with the snapshot inside.
 *
 * @param {string} page the offline page as it is built
 * @param {{blob: Blob, name: string, container: string}} snapshot
 * @param {string} view
 * @returns {Promise<Blob>}
 */
export async function savedPage(page, { blob, name, container }, view) {
  const around = page.split(EMPTY);
  if (around.length !== 2) {
    throw new Error('the page has no empty place for a snapshot');
  }
  const packed = PACKED.has(container) ? blob : await gzip(blob);
  const text = [];
  for (let at = 0; at < packed.size; at += PIECE_BYTES) {
    text.push(await base64Of(packed.slice(at, at + PIECE_BYTES)));
  }
  const opening = `${OPENING} data-name="${await inBase64(name)}" data-view="${await inBase64(view)}">`;
  return new Blob([around[0], opening, ...text, '</script>', around[1]], { type: 'text/html' });
}

/**
 * The snapshot inside this page, taken out of it: its element goes, and the text with it.
 *
 * @returns {{blob: Blob, name: string, view: string} | null}
 */
export function takeSnapshot() {
  const element = document.getElementById('oomscope-snapshot');
  const text = element?.textContent ?? '';
  if (text === '') {
    return null;
  }
  const parts = [];
  for (let at = 0; at < text.length; at += PIECE_LETTERS) {
    parts.push(bytesOf(text.slice(at, at + PIECE_LETTERS)));
  }
  element.remove();
  const { name, view } = element.dataset;
  return { blob: new Blob(parts), name: fromBase64(name), view: fromBase64(view) };
}

function gzip(blob) {
  return new Response(blob.stream().pipeThrough(new CompressionStream('gzip'))).blob();
}

function inBase64(text) {
  return base64Of(new Blob([text]));
}

function fromBase64(text) {
  return new TextDecoder().decode(bytesOf(text));
}
