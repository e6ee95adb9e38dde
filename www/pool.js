/**
 * A few workers that cut files down to their runs: each holds one file at a time and lets it go.
 */
import { Client } from './client.js';

const MOST_WORKERS = 4;

/**
 * Memory for all files that are being read. One that needs more is read alone, so that several large
 * ones take turns.
 */
const BUDGET_BYTES = 2 ** 30;

/** What reading takes, against the file: a plain one some 1.3 times, one packed by xz up to sixty. */
const PLAIN_FACTOR = 1.5;
const PACKED_FACTOR = 60;
const PACKED = /\.(gz|xz|zst|zip)$/i;

/** A worker's memory never shrinks; after a file that took so much of it, another takes its place. */
const HEAVY_BYTES = BUDGET_BYTES / 4;

/**
 * Reads all files; answers for each its run as bytes, undefined for one that is none of ours, or a
 * `RequestError`.
 *
 * @param {{blob: Blob, path: string, name: string, isFound: boolean}[]} files
 * @param {number[]} capacities of the cards asked about, in bytes
 * @param {AbortSignal} signal ends it: the promise then never settles
 * @param {(progress: import('./state.js').Comparing) => void} onProgress
 */
export function readRuns(files, capacities, signal, onProgress) {
  const count = Math.max(1, Math.min(MOST_WORKERS, navigator.hardwareConcurrency ?? 1, files.length));
  const idle = Array.from({ length: count }, () => new Client());
  const busy = new Set();
  const waiting = [...files.keys()];
  const results = new Array(files.length);
  const now = new Map();
  const total = files.reduce((sum, { blob }) => sum + blob.size, 0);
  let read = 0;
  let readBytes = 0;
  let held = 0;

  const close = () => [...idle, ...busy].forEach((client) => client.close());
  signal.addEventListener('abort', close);

  return new Promise((resolve) => {
    const tell = () => {
      if (!signal.aborted) {
        const reading = [...now.values()];
        const done = reading.reduce((sum, each) => sum + each.done, readBytes);
        onProgress({ files: files.length, read, done, total, now: reading });
      }
    };
    const next = () => {
      while (waiting.length > 0 && idle.length > 0 && (held === 0 || held + weightOf(files[waiting[0]]) <= BUDGET_BYTES)) {
        start(waiting.shift(), idle.pop());
      }
      tell();
      if (read === files.length) {
        signal.removeEventListener('abort', close);
        close();
        resolve(results);
      }
    };
    const start = async (place, client) => {
      const file = files[place];
      const weight = weightOf(file);
      const size = file.blob.size;
      held += weight;
      busy.add(client);
      now.set(place, { name: file.name, done: 0, total: size });
      const onBytes = (done) => {
        now.set(place, { name: file.name, done, total: size });
        tell();
      };
      const { blob, name, isFound } = file;
      results[place] = await client.request('runOf', { blob, name, isFound, capacities }, onBytes).catch((error) => error);
      if (signal.aborted) {
        return;
      }
      if (weight >= HEAVY_BYTES) {
        client.close();
      }
      busy.delete(client);
      idle.push(client);
      now.delete(place);
      held -= weight;
      read += 1;
      readBytes += size;
      next();
    };
    next();
  });
}

function weightOf({ blob, path }) {
  return blob.size * (PACKED.test(path) ? PACKED_FACTOR : PLAIN_FACTOR);
}
