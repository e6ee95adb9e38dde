/**
 * The page's end of the worker: a promise for each request.
 *
 * `open` keeps the worker busy until it is done, so the only way to stop it is to end the worker
 * and start another. After a crash the worker is ended too, and the next request starts another:
 * not sooner, for one that fails while it starts would do so for ever. A new worker knows nothing
 * of the file that was open: opening it again is up to the caller.
 */
import { compiledModule, startWorker } from './platform.js';

/** Why a request failed: what the reader said (`kind`, `message`, `offset`, `path`), or `Cancelled`, `Crashed`, `Unavailable`. */
export class RequestError extends Error {
  constructor({ kind, message, offset = null, path = null }) {
    super(message);
    this.name = 'RequestError';
    this.kind = kind;
    this.offset = offset;
    this.path = path;
  }
}

const CANCELLED = { kind: 'Cancelled', message: 'Reading was cancelled.' };

const CRASHED = {
  kind: 'Crashed',
  message:
    'The analyzer stopped unexpectedly and starts afresh with the next file; if the same file does it again, read it with the command line, `oomscope report FILE`.',
};

const UNAVAILABLE = {
  kind: 'Unavailable',
  message:
    'The analyzer’s own files could not be loaded; check that oomscope_bg.wasm and oom-worker.js lie beside the script on this server, and that this browser has WebAssembly with SIMD.',
};

export class Client {
  #waiting = new Map();
  #lastId = 0;
  #worker = null;
  #ready = null;

  /** The worker starts at once, so that the first file does not wait for it. */
  constructor() {
    this.#start();
  }

  /**
   * Sends one request; `onProgress(done, total)` hears of an `open` or a `runOf` on its way.
   *
   * Requests are `open {blob, name}`, `timeline {device, begin, end, widthPx, along, by, layout,
   * heightPx}`, `entry {device, entry}`, `allocation {device, allocation}`, `range {device, begin,
   * end}`, `stop {device, entry, forward}`, `blocks {device, entry, widthPx}`, `blockAt {row,
   * xPx}`, `stacks {device, selection, shape, root, widthPx}`, `stackNode {node, nodes}`,
   * `allocations {device, selection, question}`, `allocationRows {from, to}`, `allocationsCsv {hasFolders}`,
   * `steps {device, columns}`, `stepRows {from, to}`, `settings {device, question}`, `overlay {device, place}`, `complete {device, text}`,
   * `text {hasFolders}`, `markdown {hasFolders}`, `runOf {blob, name, isFound, capacities}`, `withoutFolders {blob}`, `compare {runs, unreadable}` and
   * `version`. Fails with a `RequestError`.
   */
  request(kind, payload = {}, onProgress = null) {
    if (this.#worker === null) {
      this.#start();
    }
    const id = ++this.#lastId;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject, onProgress });
      this.#send(this.#worker, this.#ready, { ...payload, id, kind });
    });
  }

  /** Ends the worker with all it does: open requests fail with the kind `Cancelled`. The next request starts another. */
  close() {
    this.#stop(CANCELLED);
  }

  #start() {
    let worker;
    try {
      worker = startWorker();
    } catch (cause) {
      console.error(cause);
      this.#ready = Promise.reject(cause);
      this.#ready.catch(() => {});
      return;
    }
    worker.onmessage = ({ data }) => this.#receive(data);
    worker.onerror = (event) => {
      // A script that could not be loaded says so with a bare event.
      this.#stop(event instanceof ErrorEvent ? CRASHED : UNAVAILABLE);
    };
    this.#worker = worker;
    this.#ready = compiledModule().then((module) => worker.postMessage({ module }));
    this.#ready.catch((cause) => console.error(cause));
  }

  async #send(worker, ready, message) {
    try {
      await ready;
    } catch {
      this.#waiting.get(message.id)?.reject(new RequestError(UNAVAILABLE));
      this.#waiting.delete(message.id);
      if (this.#worker === worker) {
        this.#stop(UNAVAILABLE);
      }
      return;
    }
    // Sent to a worker that was ended meanwhile, this goes nowhere; its promise has been rejected.
    worker.postMessage(message);
  }

  #receive({ id, progress, ok, value, error }) {
    const request = this.#waiting.get(id);
    if (progress) {
      request?.onProgress?.(...progress);
      return;
    }
    this.#waiting.delete(id);
    if (ok) {
      request?.resolve(value);
    } else {
      request?.reject(new RequestError(error));
      if (error.kind === 'Crashed') {
        // What else was asked fails for the same reason.
        this.#stop(error);
      }
    }
  }

  #stop(reason) {
    this.#worker?.terminate();
    this.#worker = null;
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const request of waiting) {
      request.reject(new RequestError(reason));
    }
  }
}
