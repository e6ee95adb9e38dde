/**
 * What a report asks of the worker that has its file open, and what the answers change of the state.
 */
import { Latest } from './latest.js';
import { entriesOf, EVERYTHING, freshDevice, groupsOf, layoutOf } from './state.js';

export class Questions {
  #store;
  #focusTimeline;
  /** The client whose worker has the report's file open. */
  #client = null;
  /** Columns and rows of pixels of the timeline. */
  #size = { widthPx: 0, heightPx: 0 };
  /** Pixels of a row of the map; 0 until somebody looks. */
  #mapWidth = 0;

  #timeline = new Latest(
    (wanted) => this.#client.request('timeline', wanted),
    (value, wanted) => this.#showTimeline(value, wanted),
    (error) => this.#lost(error),
  );
  #overview = new Latest(
    (wanted) => this.#client.request('timeline', wanted),
    (value, wanted) => this.#isCurrent(wanted) && value !== null && this.#store.set({ whole: value }),
    (error) => this.#lost(error),
  );
  #allocation = new Latest(
    (wanted) => this.#client.request('allocation', wanted),
    (allocation) => this.#store.set({ allocation }),
    (error) => this.#lost(error),
  );
  #entry = new Latest(
    (wanted) => this.#client.request('entry', wanted),
    (entry) => this.#store.set({ entry }),
    (error) => this.#lost(error),
  );

  #map = new Latest(
    (wanted) => this.#client.request('blocks', wanted),
    (map, wanted) => this.#showMap(map, wanted),
    (error) => this.#lost(error),
  );
  #block = new Latest(
    (wanted) => this.#client.request('blockAt', wanted),
    (block) => this.#store.set({ block }),
    (error) => this.#lost(error),
  );

  /**
   * @param {import('./state.js').Store} store
   * @param {() => void} focusTimeline
   */
  constructor(store, focusTimeline) {
    this.#store = store;
    this.#focusTimeline = focusTimeline;
  }

  /** From now on asks this client. */
  open(client) {
    this.#client = client;
  }

  /** A snapshot's bytes packed with gzip, its paths without folders. */
  withoutFolders(blob) {
    return this.#client.request('withoutFolders', { blob });
  }

  /** Ends the worker, and wants nothing any more. */
  close() {
    this.#timeline.drop();
    this.#overview.drop();
    this.#allocation.drop();
    this.#entry.drop();
    this.#map.drop();
    this.#block.drop();
    this.#mapWidth = 0;
    this.#client?.close();
    this.#client = null;
  }

  /** Asks for whatever a change of the state calls for. */
  update(changed) {
    const some = (...keys) => keys.some((key) => changed.has(key));
    if (some('window', 'device', 'report', 'picture', 'along')) {
      this.#wantTimeline();
    }
    if (some('pointed', 'kept')) {
      this.#wantAllocation();
    }
    if (some('pinned', 'device', 'report')) {
      this.#wantMap();
    }
    if (some('hovered', 'pinned', 'device', 'report')) {
      this.#wantEntry();
    }
  }

  /** The worker failed after the file was open: its report stays, what it would still answer does not. */
  #lost(error) {
    this.#store.set({ error: error.message });
  }

  #wantTimeline() {
    const { device, window, report, picture, along, whole } = this.#store.state;
    if (this.#size.widthPx === 0 || entriesOf(report, device) === 0 || this.#client === null) {
      return;
    }
    const look = { device, along, by: groupsOf(picture), ...this.#size };
    const layout = layoutOf(picture);
    this.#timeline.want({ ...look, ...window, layout });
    const length = along === 'entries' ? entriesOf(report, device) : (whole?.view.length ?? EVERYTHING.end);
    const isAll = window.begin === 0 && window.end >= length;
    if (whole === null && (layout !== null || !isAll)) {
      this.#overview.want({ ...look, ...EVERYTHING, layout: null });
    }
  }

  #isCurrent({ device, along, by }) {
    const { state } = this.#store;
    return device === state.device && along === state.along && by === groupsOf(state.picture);
  }

  #showTimeline(value, wanted) {
    if (!this.#isCurrent(wanted) || value === null) {
      return;
    }
    const { begin, end, length } = value.view;
    const isWhole = begin === 0 && end === length && value.layout === null;
    // A window that was to cover everything learns here how much that is.
    const window = wanted.end > length ? { window: { begin, end } } : {};
    this.#store.set({ shown: value, ...window, ...(isWhole ? { whole: value } : {}) });
  }

  #wantEntry() {
    const { device, hovered, pinned } = this.#store.state;
    const entry = hovered ?? pinned;
    if (entry === null) {
      this.#entry.drop();
      this.#store.set({ entry: null });
    } else if (this.#client !== null) {
      this.#entry.want({ device, entry });
    }
  }

  #wantAllocation() {
    const { device, pointed, kept } = this.#store.state;
    const allocation = pointed ?? kept;
    if (allocation === null) {
      this.#allocation.drop();
      this.#store.set({ allocation: null });
    } else if (this.#client !== null) {
      this.#allocation.want({ device, allocation });
    }
  }

  /** The map of the pinned entry, or of the last where none is. */
  #wantMap() {
    const { device, pinned, report } = this.#store.state;
    if (this.#mapWidth > 0 && this.#client !== null) {
      const entry = pinned ?? Math.max(entriesOf(report, device) - 1, 0);
      this.#map.want({ device, entry, widthPx: this.#mapWidth });
    }
  }

  #showMap(map, wanted) {
    if (wanted.device === this.#store.state.device && map !== null) {
      this.#block.drop();
      this.#store.set({ map, block: null });
    }
  }

  #wantBlock(place) {
    if (place === null) {
      this.#block.drop();
      this.#store.set({ block: null });
    } else if (this.#client !== null) {
      this.#block.want(place);
    }
  }

  /** What the views of a report call. */
  events() {
    return {
      window: (window) => {
        const shown = this.#store.state.window;
        if (window.begin !== shown.begin || window.end !== shown.end) {
          this.#store.set({ window });
        }
      },
      hover: (hovered) => this.#store.set({ hovered }),
      pin: (pinned) => this.#store.set({ pinned }),
      point: (pointed, isKept) => this.#store.set(isKept ? { kept: pointed, pointed: null } : { pointed }),
      emphasis: (emphasis) => this.#store.set({ emphasis }),
      picture: (picture) => this.#showPicture(picture),
      along: (along) => this.#store.set({ along, whole: null, shown: null, window: EVERYTHING }),
      selecting: (selecting) => this.#store.set({ selecting }),
      stop: (forward) => this.#stop(forward),
      size: (widthPx, heightPx) => {
        const { widthPx: before, heightPx: rows } = this.#size;
        if (widthPx !== before || heightPx !== rows || this.#store.state.shown === null) {
          this.#size = { widthPx, heightPx };
          this.#wantTimeline();
        }
      },
      map: (widthPx) => {
        if (widthPx !== this.#mapWidth) {
          this.#mapWidth = widthPx;
          this.#wantMap();
        }
      },
      block: (place) => this.#wantBlock(place),
      settings: (question) => this.#client.request('settings', { device: this.#store.state.device, question }),
      complete: (text) => this.#client.request('complete', { device: this.#store.state.device, text }),
      ask: (kind, payload) => this.#client.request(kind, { device: this.#store.state.device, ...payload }),
      tab: (tab) => this.#store.set({ tab }),
      range: (range) => this.#store.set({ range }),
      counted: (counted) => this.#store.set({ counted }),
      text: (text) => this.#store.set({ text }),
      device: (device) => this.#store.set(freshDevice(device, this.#store.state.report)),
      show: (entry, device) => this.#show(entry, device),
      overlay: (place) => this.#overlay(place),
      copyText: () => this.#client.request('text', { hasFolders: !this.#store.state.withoutFolders }),
      copyMarkdown: () => this.#client.request('markdown', { hasFolders: !this.#store.state.withoutFolders }),
    };
  }

  /** What another setting reserves, over the timeline; none for null. */
  async #overlay(place) {
    const { device } = this.#store.state;
    try {
      await this.#client.request('overlay', { device, place });
      this.#store.set({ overlaid: place !== null });
      this.#wantTimeline();
    } catch (error) {
      this.#lost(error);
    }
  }

  #showPicture(picture) {
    const regroups = groupsOf(picture) !== groupsOf(this.#store.state.picture);
    this.#store.set({ picture, pointed: null, kept: null, ...(regroups ? { whole: null, emphasis: null } : {}) });
  }

  /** To the step or failure before or after the pinned entry. */
  async #stop(forward) {
    const { device, pinned, report } = this.#store.state;
    const entry = pinned ?? (forward ? 0 : entriesOf(report, device));
    try {
      const next = await this.#client.request('stop', { device, entry, forward });
      if (next !== undefined && device === this.#store.state.device) {
        this.#store.set({ pinned: next });
      }
    } catch (error) {
      this.#lost(error);
    }
  }

  /** An entry, of the device that the verdict is about unless told: pinned, in the window, in sight. */
  #show(entry, of = this.#store.state.report.diagnosis.device) {
    const { report, device } = this.#store.state;
    if (device !== of) {
      this.#store.set(freshDevice(of, report));
    }
    const { window, along, whole } = this.#store.state;
    const isShown = along === 'entries' && window.begin <= entry && entry < window.end;
    const end = along === 'entries' ? entriesOf(report, of) : (whole?.view.length ?? EVERYTHING.end);
    this.#store.set({ pinned: entry, ...(isShown ? {} : { window: { begin: 0, end } }) });
    this.#focusTimeline();
  }
}
