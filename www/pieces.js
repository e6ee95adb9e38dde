/** The bytes of a blob, piece by piece; the browser fetches the next ones meanwhile. */

const PIECE_BYTES = 4 * 2 ** 20;

/** @yields {Uint8Array} the next piece overwrites it */
export async function* piecesOf(blob) {
  const reader = readerOf(blob.stream());
  let buffer = new ArrayBuffer(PIECE_BYTES);
  for (;;) {
    const { done, value } = await unlessUnreadable(reader.read(new Uint8Array(buffer)));
    if (done) {
      return;
    }
    yield value;
    buffer = value.buffer;
  }
}

/** One that fills a buffer of ours, again and again; where a browser has none for blobs, it takes no buffer and brings its own. */
function readerOf(stream) {
  try {
    return stream.getReader({ mode: 'byob' });
  } catch {
    return stream.getReader();
  }
}

async function unlessUnreadable(read) {
  try {
    return await read;
  } catch (error) {
    throw { kind: 'Io', message: `the file cannot be read (${error.message}); check that it still exists and may be read.` };
  }
}
