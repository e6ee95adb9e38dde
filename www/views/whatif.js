/** What the requests would have come to with other settings, another card, another use of the cache or a changed program. */
import { cards } from '#wasm';
import { fill, h } from './dom.js';
import { bytesText } from './format.js';
import { settingTable } from './settings.js';
import { NEAR } from './sight.js';

const GIB = 2 ** 30;
const MOST_GIB = 192;
/** A work that takes longer is told, in milliseconds. */
const NOTICED_MS = 200;
/** While a slider moves only its last place counts, in milliseconds. */
const SETTLED_MS = 150;
const BATCHES = [0.25, 0.5, 0.75, 1, 1.25, 1.5, 2, 3, 4];

/**
 * The table fills up in steps, each from some replays in the worker; answers to an older question
 * are dropped, and between two steps the reader may stop.
 *
 * @param {object} on
 * @param {(question: object) => Promise<object | null>} on.settings
 * @param {(place: number | null) => void} on.overlay
 */
export function whatIfView(on) {
  const { cards: known, contextMib } = cards();
  const card = h(
    'select',
    { 'aria-label': 'Card', 'data-test': 'card', onchange: () => choose() },
    h('option', { value: '' }, 'As in the recording'),
    known.map(({ name, total_mib: total }) => h('option', { value: String((total - contextMib) / 1024) }, name)),
    h('option', { value: 'other' }, 'Another size'),
  );
  const slider = h('input', { type: 'range', min: '1', max: String(MOST_GIB), step: '0.5', 'aria-label': 'Memory for PyTorch in GiB', oninput: () => slide() });
  const size = h('output', { class: 'asked-value' });
  const batch = h('input', {
    type: 'range',
    min: '0',
    max: String(BATCHES.length - 1),
    step: '1',
    value: String(BATCHES.indexOf(1)),
    'aria-label': 'Batch, times the recorded one',
    'data-test': 'batch',
    oninput: () => settle(),
  });
  const factor = h('output', { class: 'asked-value' });
  const cache = choice('empty-cache', [
    ['recorded', 'as recorded'],
    ['never', 'never'],
    ['every-step', 'between the steps'],
  ]);
  const states = choice('optimizer-states', [
    ['recorded', 'as recorded'],
    ['eight-bit', 'in 8 bits'],
    ['none', 'not on the GPU'],
  ]);
  const checkpointing = h('input', { type: 'checkbox', 'data-test': 'checkpointing', onchange: () => ask() });
  const table = settingTable((place) => overlay(place));
  const bar = h('progress', { max: '1', 'aria-label': 'Replays done' });
  const doing = h('p', { class: 'quiet', 'data-test': 'what-if-advice', role: 'status' });
  const stop = h('button', { type: 'button', class: 'button', 'data-test': 'stop', onclick: () => stopped() }, 'Stop');
  const goOn = h('button', { type: 'button', class: 'button', 'data-test': 'go-on', onclick: () => ask() }, 'Go on');
  const notes = h('ul', { class: 'quiet notes', 'data-test': 'what-if-notes' });
  const root = h(
    'section',
    { class: 'card', 'data-test': 'what-if', 'aria-labelledby': 'what-if' },
    h('h2', { id: 'what-if' }, 'What if'),
    h('p', { class: 'quiet' }, 'The recorded requests, run through PyTorch’s allocator again: with other settings, on another card, or from a changed program.'),
    h(
      'div',
      { class: 'asked' },
      h('div', { class: 'asked-wide' }, h('label', {}, h('span', {}, 'Card'), card), slider, size),
      h('div', {}, h('label', {}, h('span', {}, 'Batch'), batch), factor),
      h('label', {}, h('span', {}, h('code', {}, 'empty_cache()')), cache),
      h('label', {}, h('span', {}, 'Optimizer states'), states),
      h('label', { class: 'check' }, checkpointing, 'Activations checkpointed'),
    ),
    notes,
    h('div', { class: 'working' }, bar, doing, stop, goOn),
    h('div', { class: 'scroller' }, table.root),
  );

  let question = 0;
  let asked = false;
  let overlaid = null;
  let entries = 0;
  let wait = 0;
  // A size that the slider's steps do not have.
  let exact = null;
  let latest = null;
  let answered = '';

  function choice(test, options) {
    return h(
      'select',
      { 'data-test': test, onchange: () => ask() },
      options.map(([value, label]) => h('option', { value }, label)),
    );
  }

  const capacity = () => (card.value === '' ? null : (exact ?? Math.round(Number(slider.value) * GIB)));

  const questionNow = () => ({
    capacity: capacity(),
    empty_cache: cache.value,
    change: { batch: BATCHES[Number(batch.value)], checkpointing: checkpointing.checked, optimizer_states: states.value },
  });

  function choose() {
    exact = null;
    if (card.value !== '' && card.value !== 'other') {
      slider.value = card.value;
    }
    ask();
  }

  function slide() {
    exact = null;
    card.value = 'other';
    settle();
  }

  function settle() {
    showValues();
    clearTimeout(wait);
    wait = setTimeout(ask, SETTLED_MS);
  }

  function showValues() {
    slider.classList.toggle('unused', card.value === '');
    size.textContent = card.value === '' ? '' : `${bytesText(capacity())} for PyTorch`;
    const times = BATCHES[Number(batch.value)];
    factor.textContent = times === 1 ? 'as recorded' : `× ${times}`;
  }

  async function ask() {
    clearTimeout(wait);
    question += 1;
    const own = question;
    const wanted = questionNow();
    showValues();
    overlay(null);
    // What is there answers another question.
    table.root.classList.toggle('old', JSON.stringify(wanted) !== answered);
    const noticed = setTimeout(() => showWork('working'), NOTICED_MS);
    for (;;) {
      const answer = await on.settings(wanted).catch(() => null);
      if (own !== question) {
        clearTimeout(noticed);
        return;
      }
      latest = answer;
      answered = JSON.stringify(wanted);
      table.root.classList.remove('old');
      if (answer !== null) {
        show(answer);
      }
      if (answer === null || answer.doing === '') {
        break;
      }
    }
    clearTimeout(noticed);
    showWork('done');
    root.hidden = latest === null;
  }

  /** What the worker has begun, one step at most, ends unseen. */
  function stopped() {
    question += 1;
    showWork('stopped');
    goOn.focus();
  }

  function show(answer) {
    bar.value = answer.progress;
    table.update(answer, overlaid, true);
    fill(notes, answer.notes.map((note) => h('li', {}, note)));
    doing.textContent = answer.doing === '' ? verdict(answer) : `${answer.doing} …`;
  }

  function verdict({ recommended, rows }) {
    return recommended === null ? 'No other setting is better than the recorded one.' : `Best of these: ${rows[recommended].conf || 'the defaults'}.`;
  }

  /** @param {'working' | 'stopped' | 'done'} state */
  function showWork(state) {
    root.dataset.work = state;
    bar.hidden = state !== 'working';
    stop.hidden = state !== 'working';
    goOn.hidden = state !== 'stopped';
    if (state === 'stopped') {
      doing.textContent = 'Stopped.';
      if (latest !== null) {
        table.update(latest, overlaid, false);
      }
    }
  }

  function overlay(place) {
    if (overlaid !== place) {
      overlaid = place;
      on.overlay(place);
      if (latest !== null) {
        table.update(latest, overlaid, root.dataset.work === 'working');
      }
    }
  }

  showWork('done');

  // A replay keeps the worker busy, so the first comes when somebody looks.
  const seen = new IntersectionObserver(
    (changes) => {
      if (!asked && changes.some((change) => change.isIntersecting) && entries > 0) {
        asked = true;
        ask();
      }
    },
    NEAR,
  );
  seen.observe(root);

  return {
    root,
    /** What PyTorch could reserve, in bytes, as the error's text has it. */
    limit(most) {
      card.value = 'other';
      slider.value = String(most / GIB);
      exact = most;
      asked = true;
      ask();
    },
    update(state, changed) {
      if (changed.has('device') || changed.has('report')) {
        entries = state.report?.devices.find(({ device }) => device === state.device)?.entries ?? 0;
        root.hidden = entries === 0;
        overlaid = null;
        if (asked) {
          ask();
        }
      }
    },
  };
}
