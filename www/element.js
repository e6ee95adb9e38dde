/**
 * `<oom-scope>`: a snapshot of PyTorch's CUDA memory, or an error's text, from the drop to the verdict.
 *
 * Attributes: `src`, a snapshot to open; `samples`, the folder of those to offer; `theme`, `light` or `dark`;
 * `linked`, for the page's address to follow the view. Its
 * state, worker and painter are its own, so a page may hold several. It grows with what it shows
 * unless it is given a height; then it scrolls.
 */
import { Painter, palette, readMessage, recordCode } from '#wasm';
import { Address } from './address.js';
import { Choosing } from './choosing.js';
import { Comparing } from './comparing.js';
import { listenToDrops } from './drops.js';
import { instanceReady } from './instance.js';
import { listenToKeys } from './keys.js';
import { fileOf, fragmentOf, stateOf } from './link.js';
import { Opening } from './opening.js';
import { offlinePage } from './platform.js';
import { Questions } from './questions.js';
import { remember, remembered } from './remember.js';
import { SAMPLES, sampleAddress } from './samples.js';
import { savedPage } from './saved.js';
import { freshReport, Store } from './state.js';
import { styles } from './styles.js';
import { onSystemTheme, rememberTheme, wantedTheme } from './theme.js';
import { compareView } from './views/compare.js';
import { comparingView } from './views/comparing.js';
import { fill, h, setVars } from './views/dom.js';
import { errorView } from './views/error.js';
import { footerView } from './views/footer.js';
import { headerView } from './views/header.js';
import { icon } from './views/icons.js';
import { loadingView } from './views/loading.js';
import { messageView } from './views/message.js';
import { reportView } from './views/report.js';
import { baseOf, saveBlob } from './views/save.js';
import { startView } from './views/start.js';

class OomScope extends HTMLElement {
  static observedAttributes = ['src', 'samples', 'theme'];
  static version = VERSION;
  /** What it was built from; empty where the build did not know. */
  static commit = COMMIT;

  #store = new Store();
  #painter = null;
  /** Ends all listening outside of the element. */
  #connected = null;
  /** Ends the listening of the report shown. */
  #shown = null;
  /** The file of the report. */
  #file = null;
  /** Where the next report is to be shown, as the fragment of an address. */
  #view = '';
  /** Whether the file on its way, or open, is one of the comparison. */
  #isCompared = false;

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
  /** What the report shown asks of the worker that has its file open. */
  #questions = new Questions(this.#store, () => this.#report.focusTimeline());

  #choosing = new Choosing((given) => this.#given(given));
  #error = errorView(() => this.#store.set({ error: null }));
  #spoken = h('p', { class: 'unseen', role: 'status' });
  #content = h('div', { class: 'content' });
  #app = h('div', { class: 'app' });
  #header = headerView({ start: () => this.#startAnew(), browse: () => this.#choosing.browse(), compare: () => this.#choosing.browseOthers(this.#file), back: () => this.#backToComparison(), toggleTheme: () => this.#toggleTheme() });
  #start = startView({ browse: () => this.#choosing.browse(), browseFolder: () => this.#choosing.browseFolder(), sample: (sample) => this.#openUrl(sampleAddress(this.getAttribute('samples'), sample)), explain: (text) => this.#explain(text) });
  /** The page's, which an element may follow that is `linked`. */
  #address = new Address(() => this.#store.state);
  #wait = null;
  #report = null;
  #message = null;
  #compare = null;

  constructor() {
    super();
    const root = this.attachShadow({ mode: 'open' });
    root.adoptedStyleSheets = [styles];
    this.#app.append(this.#header.root, this.#error.root, this.#content, footerView().root, this.#choosing.files, this.#choosing.folder, this.#spoken);
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
    this.#store.set({ withoutFolders: remembered('folders') === 'left out' });
    const { state } = this.#store;
    this.#update(state, new Set(Object.keys(state)));
    this.#prepare();
    // A report whose worker ended when the element left the page comes from its file again.
    if (this.hasAttribute('src')) {
      this.#openUrl(this.getAttribute('src'));
    } else if (this.hasAttribute('linked')) {
      this.#follow(fileOf(this.#address.fragment));
    }
  }

  disconnectedCallback() {
    this.#connected.abort();
    this.#address.stop();
    this.#shown?.abort();
    this.#opening.close();
    this.#comparing.close();
    this.#close();
    this.#store.set({ phase: 'start', loading: null, error: null, reading: null, comparing: null, compared: null, ...freshReport(null) });
  }

  attributeChangedCallback(name, _, value) {
    if (name === 'samples') {
      this.#start.setSamples(value !== null);
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

  /** A link to a view of one of the samples opens it; of another file it says which to open. */
  #follow(name) {
    const sample = this.hasAttribute('samples') && SAMPLES.find((each) => sampleAddress('', each) === `/${name}`);
    if (sample) {
      this.#openUrl(sampleAddress(this.getAttribute('samples'), sample));
    } else {
      this.#start.setLinked(name);
    }
  }

  // Opening

  /**
   * Opens a snapshot that the page has.
   *
   * @param {Blob} blob
   * @param {string} name
   * @param {string} view the fragment of an address that leads to a view of it
   */
  open(blob, name, view = '') {
    this.#openFile({ blob, path: name });
    this.#view = view;
  }

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
    this.#view = '';
    this.#isCompared = isCompared;
    if (!isCompared) {
      this.#comparing.stop();
    }
    this.#opening.file(blob, path.split('/').pop());
  }

  #openUrl(url) {
    this.#view = '';
    this.#isCompared = false;
    this.#comparing.stop();
    this.#opening.url(url);
  }

  #opened(client, report, file) {
    this.#preparePainter();
    this.#close();
    this.#questions.open(client);
    this.#file = file;
    if (!this.#isCompared) {
      this.#comparing.close();
    }
    const compared = this.#isCompared ? this.#store.state.compared : null;
    const linked = stateOf((this.hasAttribute('linked') && this.#address.fragment) || this.#view, report);
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

  /** To the start screen, which is the only one that offers all there is to open; an embed, to its snapshot. */
  #startAnew() {
    this.#address.stop();
    if (this.hasAttribute('src') && !this.hasAttribute('linked')) {
      this.#openUrl(this.getAttribute('src'));
      return;
    }
    if (this.hasAttribute('linked')) {
      this.#address.clear();
      this.#start.setLinked('');
    }
    this.#isCompared = false;
    this.#comparing.close();
    this.#close();
    this.#store.set({ phase: 'start', error: null, reading: null, compared: null, ...freshReport(null) });
    this.#start.focus();
  }

  /** Lets go of the file that is open. */
  #close() {
    this.#questions.close();
    this.#file = null;
  }

  // Showing

  #update(state, changed) {
    if (!this.isConnected) {
      return;
    }
    this.#app.dataset.theme = state.theme;
    this.#app.toggleAttribute('data-without-folders', state.withoutFolders);
    this.#header.update(state, changed);
    this.#start.update(state, changed);
    if (['phase', 'report', 'compared', 'reading'].some((key) => changed.has(key))) {
      this.#showPhase(state, changed);
    }
    this.#error.update(state, changed);
    this.#wait?.update(state, changed);
    this.#compare?.update(state, changed);
    this.#report?.update(state, changed);
    if (this.hasAttribute('linked') && state.phase === 'report') {
      this.#address.follow();
    }
    if (changed.has('theme')) {
      this.#colour(state.theme);
    }
    this.#questions.update(changed);
  }

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

  #reportEvents() {
    return {
      ...this.#questions.events(),
      leaveOutFolders: (withoutFolders) => this.#leaveOutFolders(withoutFolders),
      savePage: () => this.#savePage(),
    };
  }

  /** Saves the offline page with the file and the view inside, and answers whether it could. */
  async #savePage() {
    const { state } = this.#store;
    const { name, container } = state.report.file;
    try {
      const { blob } = this.#file;
      const snapshot = state.withoutFolders
        ? { blob: new Blob([await this.#questions.withoutFolders(blob)]), container: 'gzip' }
        : { blob, container };
      const page = await savedPage(await offlinePage(), { ...snapshot, name }, fragmentOf(state));
      saveBlob(page, `${baseOf(name)}.html`);
      return true;
    } catch (error) {
      this.#store.set({ error: `The page could not be saved: ${error.message}.` });
      return false;
    }
  }

  #compareEvents() {
    return {
      swap: () => this.#comparing.swap().catch((error) => this.#store.set({ error: error.message })),
      cards: (capacity, onProgress) => this.#comparing.cards(capacity, onProgress),
      capacity: () => this.#comparing.capacity,
      open: (name) => this.#openFile(this.#comparing.file(name), true),
      copyText: () => this.#comparing.text(!this.#store.state.withoutFolders),
      copyMarkdown: () => this.#comparing.markdown(!this.#store.state.withoutFolders),
      leaveOutFolders: (withoutFolders) => this.#leaveOutFolders(withoutFolders),
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

  #leaveOutFolders(withoutFolders) {
    remember('folders', withoutFolders ? 'left out' : 'named');
    this.#store.set({ withoutFolders });
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
