/**
 * Compares files: each is cut down to its run, and kept as that, so that the comparison can be made
 * again in another order without reading a file twice.
 */
import { planComparison } from '#wasm';
import { Client } from './client.js';
import { instanceReady } from './instance.js';
import { readRuns } from './pool.js';

const NONE = 'There is no snapshot in that folder; files are looked for that end in .pickle, .pkl, .pt, .json, .html, .gz, .xz, .zst or .zip.';

export class Comparing {
  #on;
  /** Ends the reading on its way. */
  #current = null;
  /** Compares; it holds no file. */
  #client = null;
  /** The files read, each with its run. */
  #files = [];
  #unreadable = [];
  #answer = null;
  /** Of the card asked about last, in bytes. */
  #capacity = null;

  /**
   * @param {object} on
   * @param {(comparing: import('./state.js').Comparing) => void} on.progress
   * @param {(answer: object) => void} on.compared as the worker's `compare` answered it
   * @param {(file: {blob: Blob, path: string}) => void} on.single a folder has no other file than this
   * @param {(error: string | null) => void} on.failed one sentence; null when it was cancelled
   */
  constructor(on) {
    this.#on = on;
  }

  /** Reads files and compares them, the first against the others. */
  async start({ files, areFound }) {
    const signal = this.#begin();
    this.#capacity = null;
    this.#on.progress({ files: files.length, read: 0, done: 0, total: 0, now: [] });
    try {
      // Where the module cannot be had, the client says it in a sentence.
      await instanceReady().catch(() => this.#worker().request('version'));
      const plan = planComparison(files.map(({ path }) => path), areFound);
      const named = plan.map(({ place, name }) => ({ ...files[place], name, isFound: areFound }));
      if (named.length === 0) {
        throw new Error(NONE);
      }
      if (areFound && named.length === 1) {
        this.#on.single(named[0]);
        return;
      }
      const read = await this.#read(named, [], signal, this.#on.progress);
      const answer = await this.#compare(read);
      signal.throwIfAborted();
      this.#keep(read, answer);
      this.#on.compared(answer);
    } catch (error) {
      if (!signal.aborted) {
        this.#on.failed(error.message);
      }
    }
  }

  /** The first file takes the place of the last. */
  async swap() {
    const read = { files: this.#files.toReversed(), unreadable: this.#unreadable };
    const answer = await this.#compare(read);
    this.#keep(read, answer);
    this.#on.compared(answer);
  }

  /**
   * What each run needs on a card with room for so many bytes, a sentence each; nothing for null.
   * The files are read again, for their requests are not kept.
   */
  async cards(capacity, onProgress) {
    const signal = this.#begin();
    this.#capacity = capacity;
    const read = await this.#read(this.#files, capacity === null ? [] : [capacity], signal, onProgress);
    const answer = await this.#compare({ ...read, unreadable: this.#unreadable });
    signal.throwIfAborted();
    this.#keep({ ...read, unreadable: this.#unreadable }, answer);
    return answer.comparison.cards;
  }

  get capacity() {
    return this.#capacity;
  }

  /** The file of that name, as `{blob, path, name}`. */
  file(name) {
    return this.#files.find((file) => file.name === name);
  }

  text(hasFolders) {
    return hasFolders ? this.#answer.text : this.#answer.text_without_folders;
  }

  markdown(hasFolders) {
    return hasFolders ? this.#answer.markdown : this.#answer.markdown_without_folders;
  }

  cancel() {
    this.stop();
    this.#on.failed(null);
  }

  /** Ends what is on its way, without a word; a comparison that was made stays. */
  stop() {
    this.#current?.abort();
  }

  /** Ends everything and lets go of all files, without a word. */
  close() {
    this.#current?.abort();
    this.#client?.close();
    this.#client = null;
    this.#keep({ files: [], unreadable: [] }, null);
  }

  #worker() {
    this.#client ??= new Client();
    return this.#client;
  }

  #begin() {
    this.#current?.abort();
    this.#current = new AbortController();
    return this.#current.signal;
  }

  #keep({ files, unreadable }, answer) {
    this.#files = files;
    this.#unreadable = unreadable;
    this.#answer = answer;
  }

  async #read(files, capacities, signal, onProgress) {
    const results = await readRuns(files, capacities, signal, onProgress);
    const read = files.map((file, place) => ({ ...file, run: results[place] }));
    return {
      files: read.filter(({ run }) => run instanceof Uint8Array),
      unreadable: read.filter(({ run }) => run instanceof Error).map(({ name, run }) => ({ name, message: run.message })),
    };
  }

  #compare({ files, unreadable }) {
    return this.#worker().request('compare', { runs: files.map(({ run }) => run), unreadable });
  }
}
