/** Files from an address. */

/** The last part of an address, for people. */
export function nameOf(url) {
  const { pathname } = new URL(url, document.baseURI);
  return decodeURIComponent(pathname.split('/').pop() || pathname);
}

/**
 * The bytes at an address. `onProgress(done, total)` hears of them on their way; `total` is null
 * where the server does not say.
 */
export async function fetchBlob(url, signal, onProgress) {
  const response = await fetch(new URL(url, document.baseURI), { signal });
  if (!response.ok) {
    throw new Error(`the server answered ${response.status}`);
  }
  // A compressed transfer counts other bytes than the ones that arrive here.
  const plain = !response.headers.has('content-encoding');
  const total = (plain && Number(response.headers.get('content-length'))) || null;
  const reader = response.body.getReader();
  const parts = [];
  let done = 0;
  for (let step = await reader.read(); !step.done; step = await reader.read()) {
    parts.push(step.value);
    done += step.value.length;
    onProgress(done, total);
  }
  return new Blob(parts);
}
