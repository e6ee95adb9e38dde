/** Files from where the user has them: a drop, an address. */

/** The file of a drop, or null when what was dropped is none. */
export function droppedFile(transfer) {
  const item = [...transfer.items].find((each) => each.kind === 'file');
  if (item?.webkitGetAsEntry?.()?.isDirectory) {
    return null;
  }
  return transfer.files[0] ?? null;
}

/** Whether a drag carries files, as far as a browser says before the drop. */
export function carriesFiles(transfer) {
  return transfer !== null && [...transfer.types].includes('Files');
}

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
