/** The page's address follows the view of a report, so that a reload or a link leads back to it. */
import { fragmentOf } from './link.js';

/** The rest after which it follows: browsers count how often an address changes. */
const REST_MS = 250;

export class Address {
  #state;
  #resting = null;

  /** @param {() => import('./state.js').State} state as it is now */
  constructor(state) {
    this.#state = state;
  }

  /** The fragment that the page was opened with, without its `#`. */
  get fragment() {
    return location.hash.slice(1);
  }

  /** The view has changed. */
  follow() {
    this.stop();
    this.#resting = setTimeout(() => {
      const state = this.#state();
      const fragment = state.phase === 'report' ? fragmentOf(state) : null;
      if (fragment !== null && fragment !== this.fragment) {
        replace(fragment && `#${fragment}`);
      }
    }, REST_MS);
  }

  /** Follows no change so far. */
  stop() {
    clearTimeout(this.#resting);
  }

  /** Leads to no view any more. */
  clear() {
    this.stop();
    replace('');
  }
}

function replace(fragment) {
  history.replaceState(history.state, '', `${location.pathname}${location.search}${fragment}`);
}
