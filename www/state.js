/**
 * What one element shows. Knows no DOM: whoever shows it subscribes.
 *
 * @typedef {object} State
 * @property {'start' | 'loading' | 'report' | 'message' | 'comparing' | 'compare'} phase
 * @property {'light' | 'dark'} theme
 * @property {boolean} withoutFolders whether what is copied or saved names files without their folders
 * @property {string | null} error one sentence
 * @property {string | null} recordCode how to record a snapshot; absent until the module is there
 * @property {object | null} reading what an error text says, as `readMessage` answered it
 * @property {Loading | null} loading
 * @property {Comparing | null} comparing
 * @property {object | null} compared as the worker's `compare` answered it; it stays while one of its files is open
 * @property {object | null} report as the session's `open` answered it
 * @property {number} device whose timeline is shown
 * @property {object | null} whole the timeline of all its entries
 * @property {object | null} shown the timeline of the window, or the latest there is
 * @property {{begin: number, end: number}} window the places of the axis to show
 * @property {'category' | 'line' | 'heap' | 'addresses'} picture what the timeline shows
 * @property {'entries' | 'time'} along what its places are
 * @property {boolean} selecting whether a drag over it selects a range
 * @property {number | null} pointed the allocation under the pointer, where allocations are shown
 * @property {number | null} kept the one that was clicked
 * @property {object | null} allocation the one read out
 * @property {number | null} pinned the selected entry
 * @property {number | null} hovered the entry under the pointer
 * @property {object | null} entry the entry read out: the hovered one, else the pinned one
 * @property {object | null} map the segments and blocks after the pinned entry, or the latest there are
 * @property {object | null} block what the pointer reads off the map
 * @property {string | null} emphasis the one category to keep its colour and to count
 * @property {{begin: number, end: number} | null} range the entries selected; null for the pinned entry alone
 * @property {'live' | 'kept' | 'allocated' | 'freed'} counted what is counted of a range
 * @property {string} text what the stacks counted must contain
 * @property {'stacks' | 'allocations' | 'steps'} tab of the explorer
 * @property {boolean} overlaid whether what another setting reserves is drawn too
 *
 * @typedef {object} Loading
 * @property {string} name of the file
 * @property {'starting' | 'fetching' | 'reading'} verb
 * @property {number} done bytes
 * @property {number | null} total bytes, where known
 *
 * @typedef {object} Comparing
 * @property {number} files to read in all
 * @property {number} read of them
 * @property {number} done bytes
 * @property {number} total bytes
 * @property {{name: string, done: number, total: number}[]} now the files that are being read
 */

/** @returns {State} */
export function initialState() {
  return {
    phase: 'start',
    theme: 'light',
    withoutFolders: false,
    error: null,
    recordCode: null,
    reading: null,
    loading: null,
    comparing: null,
    compared: null,
    ...freshReport(null),
  };
}

/** The part of the state that belongs to one report. */
export function freshReport(report) {
  return {
    report,
    tab: 'stacks',
    picture: 'category',
    selecting: false,
    ...freshDevice(report?.diagnosis.device ?? 0, report),
  };
}

/** The part of the state that belongs to one device of a report. */
export function freshDevice(device, report) {
  const entries = entriesOf(report, device);
  const judged = report?.diagnosis.device === device && report.diagnosis.entry < entries;
  return {
    device,
    whole: null,
    shown: null,
    along: 'entries',
    window: { begin: 0, end: entries },
    pointed: null,
    kept: null,
    allocation: null,
    pinned: judged ? report.diagnosis.entry : null,
    hovered: null,
    entry: null,
    map: null,
    block: null,
    emphasis: null,
    range: null,
    counted: 'kept',
    text: '',
    overlaid: false,
  };
}

/** How the allocations of a picture are laid out; null where it shows bands. */
export function layoutOf(picture) {
  return picture === 'heap' || picture === 'addresses' ? picture : null;
}

/** What the allocations of one colour have in common. */
export function groupsOf(picture) {
  return picture === 'line' ? 'line' : 'category';
}

/** A window that covers any axis; the answer says how long it is. */
export const EVERYTHING = { begin: 0, end: 2 ** 32 - 1 };

/** What the views count, as the worker takes it: a range, or what is held after one entry. */
export function selectionOf({ report, device, range, pinned, counted, emphasis, text }) {
  const at = pinned ?? Math.max(entriesOf(report, device) - 1, 0);
  const span = range === null ? { begin: at, end: at + 1, counted: 'live' } : { ...range, counted };
  // A line has a colour too, but is chosen by its text.
  const category = emphasis?.startsWith('line-') ? null : emphasis;
  return { ...span, category, text };
}

/** The parts of the state that `selectionOf` reads. */
export const SELECTING = ['report', 'device', 'range', 'pinned', 'counted', 'emphasis', 'text'];

export function entriesOf(report, device) {
  return report?.devices.find((each) => each.device === device)?.entries ?? 0;
}

export class Store {
  #state = initialState();
  #listeners = new Set();

  /** @returns {State} */
  get state() {
    return this.#state;
  }

  /**
   * Changes some of the state and tells the subscribers which parts are new; nothing is told when
   * nothing is.
   *
   * @param {Partial<State>} patch
   */
  set(patch) {
    const changed = new Set(Object.keys(patch).filter((key) => patch[key] !== this.#state[key]));
    if (changed.size === 0) {
      return;
    }
    this.#state = { ...this.#state, ...patch };
    for (const listener of this.#listeners) {
      listener(this.#state, changed);
    }
  }

  /** Returns a function that ends the subscription. */
  subscribe(listener) {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
