/**
 * `<oom-scope>`: a snapshot of PyTorch's CUDA memory, or an error's text, from the drop to the verdict.
 *
 * Attributes: `src`, a snapshot to open; `sample`, one to offer; `theme`, `light` or `dark`;
 * `linked`, for the page's address to follow the view. Its
 * state, worker and painter are its own, so a page may hold several. It grows with what it shows
 * unless it is given a height; then it scrolls.
 */
import { Painter, palette, readMessage, recordCode } from '#wasm';
import { Choosing } from './choosing.js';
import { Comparing } from './comparing.js';
import { listenToDrops } from './drops.js';
import { listenToKeys } from './keys.js';
import { fragmentOf, stateOf } from './link.js';
import { instanceReady } from './instance.js';
import { Latest } from './latest.js';
import { Opening } from './opening.js';
import { entriesOf, EVERYTHING, freshDevice, freshReport, groupsOf, layoutOf, Store } from './state.js';
import base from './style.css';
import { onSystemTheme, rememberTheme, wantedTheme } from './theme.js';
import blocks from './views/blocks.css';
import compare from './views/compare.css';
import { compareView } from './views/compare.js';
import { comparingView } from './views/comparing.js';
import { fill, h, oncePerFrame, setVars } from './views/dom.js';
import { errorView } from './views/error.js';
import explore from './views/explore.css';
import { headerView } from './views/header.js';
import { icon } from './views/icons.js';
import { loadingView } from './views/loading.js';
import { messageView } from './views/message.js';
import narrow from './views/narrow.css';
import { reportView } from './views/report.js';
import rows from './views/rows.css';
import stacks from './views/stacks.css';
import start from './views/start.css';
import { startView } from './views/start.js';
import tables from './views/tables.css';
import timeline from './views/timeline.css';
import verdict from './views/verdict.css';
import whatIf from './views/whatif.css';

class OomScope extends HTMLElement {
  static observedAttributes = ['src', 'sample', 'theme'];

  #store = new Store();
  #painter = null;
  /** The client whose worker has the report's file open. */
  #open = null;
  /** Ends all listening outside of the element. */
  #connected = null;
  /** Ends the listening of the report shown. */
  #shown = null;
  /** The file of the report. */
  #file = null;
  /** Whether the file on its way, or open, is one of the comparison. */
  #isCompared = false;
  /** Columns and rows of pixels of the timeline. */
  #size = { widthPx: 0, heightPx: 0 };
  /** Pixels of a row of the map; 0 until somebody looks. */
  #mapWidth = 0;

  #opening = new Opening({
    progress: (loading) => this.#store.set({ phase: 'loading', error: null, loading }),
    opened: (client, report, file) => this.#opened(client, report, file),
    failed: (error) => this.#back(error),
    summary: (file) => this.#comparing.start({ files: [file], areFound: false }),
    text: (text) => this.#explain(text, true),
  });
  #comparing = new Comparing({
    progress: (comparing) => this.#store.set({ phase: 'comparing', error: null, comparing }),
    compared: (answer) => this.#compared(answer),
    single: (file) => this.#openFile(file),
    failed: (error) => this.#back(error),
  });
  #timeline = new Latest(
    (wanted) => this.#open.request('timeline', wanted),
    (value, wanted) => this.#showTimeline(value, wanted),
    (error) => this.#lost(error),
  );
  #overview = new Latest(
    (wanted) => this.#open.request('timeline', wanted),
    (value, wanted) => this.#isCurrent(wanted) && value !== null && this.#store.set({ whole: value }),
    (error) => this.#lost(error),
  );
  #allocation = new Latest(
    (wanted) => this.#open.request('allocation', wanted),
    (allocation) => this.#store.set({ allocation }),
    (error) => this.#lost(error),
  );
  #entry = new Latest(
    (wanted) => this.#open.request('entry', wanted),
    (entry) => this.#store.set({ entry }),
    (error) => this.#lost(error),
  );

  #map = new Latest(
    (wanted) => this.#open.request('blocks', wanted),
    (map, wanted) => this.#showMap(map, wanted),
    (error) => this.#lost(error),
  );
  #block = new Latest(
    (wanted) => this.#open.request('blockAt', wanted),
    (block) => this.#store.set({ block }),
    (error) => this.#lost(error),
  );

  #choosing = new Choosing((given) => this.#given(given));
  #error = errorView(() => this.#store.set({ error: null }));
  #spoken = h('p', { class: 'unseen', role: 'status' });
  #content = h('div', { class: 'content' });
  #app = h('div', { class: 'app' });
  #header = headerView({ browse: () => this.#choosing.browse(), compare: () => this.#choosing.browseOthers(this.#file), back: () => this.#backToComparison(), toggleTheme: () => this.#toggleTheme() });
  #start = startView({ browse: () => this.#choosing.browse(), browseFolder: () => this.#choosing.browseFolder(), sample: () => this.#openUrl(this.getAttribute('sample')), explain: (text) => this.#explain(text) });
  #wait = null;
  #report = null;
  #message = null;
  #compare = null;

  constructor() {
    super();
    const root = this.attachShadow({ mode: 'open' });
    const sheet = new CSSStyleSheet();
    sheet.replaceSync([base, start, verdict, timeline, blocks, explore, stacks, tables, rows, whatIf, compare, narrow].join('\n'));
    root.adoptedStyleSheets = [sheet];
    this.#app.append(this.#header.root, this.#error.root, this.#content, this.#choosing.files, this.#choosing.folder, this.#spoken);
    this.#app.prepend(h('div', { class: 'drop-frame', 'aria-hidden': 'true' }, h('div', { class: 'drop-veil' }, icon('drop'), 'Drop to open')));
    root.append(this.#app);
    this.#store.subscribe((state, changed) => this.#update(state, changed));
  }

  connectedCallback() {
    this.#connected = new AbortController();
    const { signal } = this.#connected;
    const drops = {
      drag: (dragging) => this.#showDrag(dragging),
      files: (given) => this.#given(given),
      refuse: (error) => this.#store.set({ error }),
    };
    listenToDrops(this, drops, signal);
    listenToKeys(this, (event) => this.#store.state.phase === 'report' && this.#report.key(event.key), signal);
    const stop = onSystemTheme(() => this.#setTheme());
    signal.addEventListener('abort', stop);
    this.#opening.warm();
    this.#setTheme();
    const { state } = this.#store;
    this.#update(state, new Set(Object.keys(state)));
    this.#prepare();
    // A report whose worker ended when the element left the page comes from its file again.
    if (this.hasAttribute('src')) {
      this.#openUrl(this.getAttribute('src'));
    }
  }

  disconnectedCallback() {
    this.#connected.abort();
    this.#shown?.abort();
    this.#opening.close();
    this.#comparing.close();
    this.#close();
    this.#store.set({ phase: 'start', loading: null, error: null, reading: null, comparing: null, compared: null, ...freshReport(null) });
  }

  attributeChangedCallback(name, _, value) {
    if (name === 'sample') {
      this.#start.setSample(value !== null);
    } else if (name === 'theme') {
      this.#setTheme();
    } else if (this.isConnected && this.#connected !== null && value !== null) {
      this.#openUrl(value);
    }
  }

  async #prepare() {
    try {
      await instanceReady();
    } catch {
      // The first file asks again, and tells.
      return;
    }
    this.#preparePainter();
  }

  #preparePainter() {
    if (this.#painter === null) {
      this.#painter = new Painter();
      this.#store.set({ recordCode: recordCode() });
      this.#colour(this.#store.state.theme);
    }
  }

  // Opening

  /** One file is opened, several are compared. */
  #given({ files, areFound }) {
    if (files.length === 1 && !areFound) {
      this.#openFile(files[0]);
    } else {
      this.#opening.close();
      this.#comparing.start({ files, areFound });
    }
  }

  #openFile({ blob, path }, isCompared = false) {
    this.#isCompared = isCompared;
    if (!isCompared) {
      this.#comparing.stop();
    }
    this.#opening.file(blob, path.split('/').pop());
  }

  #openUrl(url) {
    this.#isCompared = false;
    this.#comparing.stop();
    this.#opening.url(url);
  }

  #opened(client, report, file) {
    this.#preparePainter();
    this.#close();
    this.#open = client;
    this.#file = file;
    if (!this.#isCompared) {
      this.#comparing.close();
    }
    const compared = this.#isCompared ? this.#store.state.compared : null;
    const linked = this.hasAttribute('linked') ? stateOf(location.hash.slice(1), report) : {};
    this.#store.set({ phase: 'report', loading: null, error: null, reading: null, compared, ...freshReport(report), ...linked });
    this.#spoken.textContent = report.diagnosis.headline.replaceAll('`', '');
  }

  #compared(compared) {
    this.#preparePainter();
    this.#close();
    this.#store.set({ phase: 'compare', comparing: null, error: null, reading: null, compared, ...freshReport(null) });
    this.#spoken.textContent = (compared.comparison?.headline ?? '').replaceAll('`', '');
  }

  #backToComparison() {
    this.#close();
    this.#store.set({ phase: 'compare', error: null, ...freshReport(null) });
  }

  /** Reads an error text; of a file, only if it is one. Answers whether it is shown. */
  async #explain(text, isFile = false) {
    try {
      await instanceReady();
    } catch (error) {
      this.#store.set({ error: `The analyzer could not be loaded: ${error.message}.` });
      return false;
    }
    const reading = { ...readMessage(text), source: text };
    if (isFile && !reading.recognised) {
      return false;
    }
    this.#preparePainter();
    this.#store.set({ phase: 'message', loading: null, error: null, reading });
    this.#spoken.textContent = reading.headline;
    return true;
  }

  /** Back to what was there before: no file takes the place of one that could not be opened. */
  #back(error, reading = this.#store.state.reading) {
    const { report, compared } = this.#store.state;
    const phase = reading !== null ? 'message' : report !== null ? 'report' : compared !== null ? 'compare' : 'start';
    this.#store.set({ phase, loading: null, comparing: null, reading, error });
  }

  /** Lets go of the file that is open. */
  #close() {
    this.#timeline.drop();
    this.#overview.drop();
    this.#allocation.drop();
    this.#entry.drop();
    this.#map.drop();
    this.#block.drop();
    this.#mapWidth = 0;
    this.#open?.close();
    this.#open = null;
    this.#file = null;
  }

  /** The worker failed after the file was open: its report stays, what it would still answer does not. */
  #lost(error) {
    this.#store.set({ error: error.message });
  }

  // Asking the worker

  #wantTimeline() {
    const { device, window, report, picture, along, whole } = this.#store.state;
    if (this.#size.widthPx === 0 || entriesOf(report, device) === 0 || this.#open === null) {
      return;
    }
    const look = { device, along, by: groupsOf(picture), ...this.#size };
    const layout = layoutOf(picture);
    this.#timeline.want({ ...look, ...window, layout });
    const isAll = window.begin === 0 && window.end >= (whole?.view.length ?? EVERYTHING.end);
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
    } else if (this.#open !== null) {
      this.#entry.want({ device, entry });
    }
  }

  #wantAllocation() {
    const { device, pointed, kept } = this.#store.state;
    const allocation = pointed ?? kept;
    if (allocation === null) {
      this.#allocation.drop();
      this.#store.set({ allocation: null });
    } else if (this.#open !== null) {
      this.#allocation.want({ device, allocation });
    }
  }

  /** The map of the pinned entry, or of the last where none is. */
  #wantMap() {
    const { device, pinned, report } = this.#store.state;
    if (this.#mapWidth > 0 && this.#open !== null) {
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
    } else if (this.#open !== null) {
      this.#block.want(place);
    }
  }

  #reportEvents() {
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
      settings: (question) => this.#open.request('settings', { device: this.#store.state.device, question }),
      complete: (text) => this.#open.request('complete', { device: this.#store.state.device, text }),
      ask: (kind, payload) => this.#open.request(kind, { device: this.#store.state.device, ...payload }),
      tab: (tab) => this.#store.set({ tab }),
      range: (range) => this.#store.set({ range }),
      counted: (counted) => this.#store.set({ counted }),
      text: (text) => this.#store.set({ text }),
      device: (device) => this.#store.set(freshDevice(device, this.#store.state.report)),
      show: (entry, device) => this.#show(entry, device),
      overlay: (place) => this.#overlay(place),
      copyText: () => this.#open.request('text'),
      copyMarkdown: () => this.#open.request('markdown'),
    };
  }

  /** What another setting reserves, over the timeline; none for null. */
  async #overlay(place) {
    const { device } = this.#store.state;
    try {
      await this.#open.request('overlay', { device, place });
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
      const next = await this.#open.request('stop', { device, entry, forward });
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
    this.#report.focusTimeline();
  }

  // Showing

  #update(state, changed) {
    if (!this.isConnected) {
      return;
    }
    this.#app.dataset.theme = state.theme;
    this.#header.update(state, changed);
    this.#start.update(state, changed);
    if (['phase', 'report', 'compared', 'reading'].some((key) => changed.has(key))) {
      this.#showPhase(state, changed);
    }
    this.#error.update(state, changed);
    this.#wait?.update(state, changed);
    this.#compare?.update(state, changed);
    this.#report?.update(state, changed);
    if (state.phase === 'report' && this.hasAttribute('linked')) {
      this.#link();
    }
    if (changed.has('theme')) {
      this.#colour(state.theme);
    }
    if (['window', 'device', 'report', 'picture', 'along'].some((key) => changed.has(key))) {
      this.#wantTimeline();
    }
    if (changed.has('pointed') || changed.has('kept')) {
      this.#wantAllocation();
    }
    if (changed.has('pinned') || changed.has('device') || changed.has('report')) {
      this.#wantMap();
    }
    if (['hovered', 'pinned', 'device', 'report'].some((key) => changed.has(key))) {
      this.#wantEntry();
    }
  }

  /** The address follows the view; once a frame, since browsers count how often it changes. */
  #link = oncePerFrame(() => {
    const { state } = this.#store;
    if (state.phase === 'report') {
      const fragment = fragmentOf(state);
      if (fragment !== location.hash.slice(1)) {
        history.replaceState(history.state, '', `${location.pathname}${location.search}${fragment && `#${fragment}`}`);
      }
    }
  });

  #showPhase(state, changed) {
    if (changed.has('report')) {
      this.#shown?.abort();
      this.#shown = state.report === null ? null : new AbortController();
      this.#report = state.report === null ? null : reportView(state.report, this.#painter, this.#reportEvents(), this.#shown.signal);
      this.#report?.update(state, new Set(Object.keys(state)));
    }
    if (changed.has('compared')) {
      this.#compare?.close();
      this.#compare = state.compared === null ? null : compareView(state.compared, this.#compareEvents());
      this.#compare?.update(state, new Set(Object.keys(state)));
    }
    this.#wait = this.#waitView(state.phase);
    this.#wait?.update(state, new Set(Object.keys(state)));
    this.#message = state.phase === 'message' ? this.#messageView(state) : null;
    const view = { start: this.#start, loading: this.#wait, comparing: this.#wait, report: this.#report, compare: this.#compare, message: this.#message }[state.phase];
    const focused = this.matches(':focus-within');
    fill(this.#content, view.root);
    if (focused) {
      view.focus();
    }
    this.#app.dataset.phase = state.phase;
    this.#spoken.textContent = state.phase === 'loading' ? `Reading ${state.loading.name}` : '';
  }

  #waitView(phase) {
    if (phase === 'loading') {
      return loadingView({ cancel: () => this.#opening.cancel() });
    }
    return phase === 'comparing' ? comparingView({ cancel: () => this.#comparing.cancel() }) : null;
  }

  #compareEvents() {
    return {
      swap: () => this.#comparing.swap().catch((error) => this.#lost(error)),
      cards: (capacity, onProgress) => this.#comparing.cards(capacity, onProgress),
      open: (name) => this.#openFile(this.#comparing.file(name), true),
      copyText: () => this.#comparing.text(),
      copyMarkdown: () => this.#comparing.markdown(),
    };
  }

  #messageView({ reading }) {
    const back = () => this.#back(null, null);
    const { root, headline } = messageView(reading, { browse: () => this.#choosing.browse(), back, explain: (text) => this.#explain(text) });
    return { root, focus: () => headline.focus({ preventScroll: true }) };
  }

  #showDrag(dragging) {
    setVars(this.#app, { '--host-height': `${this.clientHeight}px` });
    this.#app.classList.toggle('dropping', dragging);
  }

  // Colours

  #setTheme() {
    this.#store.set({ theme: wantedTheme(this.getAttribute('theme')) });
  }

  #toggleTheme() {
    const theme = this.#store.state.theme === 'dark' ? 'light' : 'dark';
    rememberTheme(theme);
    this.#store.set({ theme });
  }

  /** The charts' colours are the page's: one list, in the module. */
  #colour(theme) {
    if (this.#painter !== null) {
      const colours = palette(theme === 'dark').map(({ key, colour }) => [`--c-${key}`, colour]);
      setVars(this.#app, Object.fromEntries(colours));
    }
  }
}

if (!customElements.get('oom-scope')) {
  customElements.define('oom-scope', OomScope);
}
