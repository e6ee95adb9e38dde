/**
 * Opens one file at a time, each in a worker of its own: so whatever was open before stays until the
 * new file is, and a file that is given up takes nothing with it but its worker.
 */
import { Client, RequestError } from './client.js';
import { fetchBlob, nameOf } from './fetch.js';
import { instanceReady } from './instance.js';

/** Kinds of failure that are no fault of the file. */
const OURS = new Set(['Cancelled', 'Crashed', 'Unavailable', 'Internal']);

/** A log longer than this is not read as an error's text. */
const TEXT_BYTES = 64 * 2 ** 20;

export class Opening {
  #on;
  /** The client for the next file, or for the one on its way. */
  #client = null;
  /** Ends the latest opening. */
  #current = null;

  /**
   * @param {object} on
   * @param {(loading: import('./state.js').Loading) => void} on.progress
   * @param {(client: Client, report: object, file: {blob: Blob, path: string}) => void} on.opened the client is the receiver's from now on
   * @param {(error: string | null) => void} on.failed one sentence; null when it was cancelled
   * @param {(file: {blob: Blob, path: string}) => void} on.summary a file that is a summary of a snapshot
   * @param {(text: string) => Promise<boolean>} on.text a file that is no snapshot; true if it is an error's text
   */
  constructor(on) {
    this.#on = on;
  }

  /** Starts the worker of the next file, so that the file does not wait for it. */
  warm() {
    this.#client ??= new Client();
  }

  file(blob, name) {
    return this.#start(name, 'reading', blob.size, async () => blob);
  }

  url(url) {
    const name = nameOf(url);
    return this.#start(name, 'fetching', null, async (signal, onProgress) => {
      try {
        return await fetchBlob(url, signal, onProgress);
      } catch (error) {
        throw signal.aborted ? error : new Error(`${name} could not be fetched: ${error.message}.`);
      }
    });
  }

  cancel() {
    this.#current?.abort();
    this.#on.failed(null);
  }

  /** Ends everything, without a word. */
  close() {
    this.#current?.abort();
    this.#giveUp();
  }

  #giveUp() {
    // A busy worker hears nothing: it is ended, and the next file gets another.
    this.#client?.close();
    this.#client = null;
  }

  async #start(name, verb, total, blobOf) {
    this.#current?.abort();
    const current = new AbortController();
    const { signal } = current;
    signal.addEventListener('abort', () => this.#giveUp());
    this.#current = current;
    this.warm();
    const client = this.#client;
    const tell = (doing) => (done, of) => {
      if (!signal.aborted) {
        this.#on.progress({ name, verb: doing, done, total: of });
      }
    };
    let blob = null;
    try {
      tell('starting')(0, null);
      // Where the module cannot be had, the client says it in a sentence.
      await instanceReady().catch(() => client.request('version'));
      tell(verb)(0, total);
      blob = await blobOf(signal, tell('fetching'));
      tell('reading')(0, blob.size);
      const report = await client.request('open', { blob, name }, tell('reading'));
      signal.throwIfAborted();
      this.#client = null;
      this.#current = null;
      this.#on.opened(client, report, { blob, path: name });
    } catch (error) {
      if (!signal.aborted) {
        this.#giveUp();
        if (error.kind === 'Summary') {
          this.#on.summary({ blob, path: name });
          return;
        }
        const text = isOfFile(error) && blob.size <= TEXT_BYTES ? await blob.text() : null;
        // Another file may have come while this one was read as a text.
        const isOver = signal.aborted || (text !== null && (await this.#on.text(text)));
        if (!isOver) {
          this.#on.failed(toldOf(error, name));
        }
      }
    }
  }
}

function isOfFile(error) {
  return error instanceof RequestError && !OURS.has(error.kind);
}

/** What the reader says of a file does not name it. */
function toldOf(error, name) {
  return isOfFile(error) ? `${name}: ${error.message}` : error.message;
}
