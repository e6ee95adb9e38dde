/** What the same requests would have come to under other settings of the allocator, or on another card. */
import { cards } from '#wasm';
import { fill, h } from './dom.js';
import { bytes, bytesText, countText } from './format.js';

const GIB = 2 ** 30;
const MOST_GIB = 192;

/**
 * Rows come one by one, each from a replay in the worker; those of an older question are dropped.
 *
 * @param {object} on
 * @param {(place: number, capacity: number | null) => Promise<object | null>} on.settingRow
 * @param {(place: number | null, capacity: number | null) => void} on.overlay
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
  const size = h('output', { class: 'card-size' });
  const body = h('tbody', {});
  const advice = h('p', { class: 'quiet', 'data-test': 'what-if-advice', role: 'status' });
  const table = h(
    'table',
    { class: 'settings', 'data-test': 'settings' },
    h('thead', {}, h('tr', {}, ['Setting', 'What happens', 'Reserved at most', 'Stalls', ''].map((title) => h('th', { scope: 'col' }, title)))),
    body,
  );
  const root = h(
    'section',
    { class: 'card', 'data-test': 'what-if', 'aria-labelledby': 'what-if' },
    h('h2', { id: 'what-if' }, 'What if'),
    h('p', { class: 'quiet' }, 'The recorded requests, run through PyTorch’s allocator again: with other settings, or on another card.'),
    h('div', { class: 'what-if-card' }, h('label', {}, 'On ', card), slider, size),
    h('div', { class: 'scroller' }, table),
    advice,
  );

  let question = 0;
  let asked = false;
  let overlaid = null;
  let entries = 0;
  let wait = 0;
  // A size that the slider's steps do not have.
  let exact = null;

  const capacity = () => (card.value === '' ? null : (exact ?? Math.round(Number(slider.value) * GIB)));

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
    showSize();
    // While the slider moves only its last place counts.
    clearTimeout(wait);
    wait = setTimeout(ask, 150);
  }

  function showSize() {
    slider.classList.toggle('unused', card.value === '');
    size.textContent = card.value === '' ? '' : `${bytesText(capacity())} for PyTorch`;
  }

  async function ask() {
    question += 1;
    const own = question;
    showSize();
    overlay(null);
    const rows = [];
    for (let place = 0; ; place += 1) {
      const answer = await on.settingRow(place, capacity()).catch(() => null);
      if (own !== question) {
        return;
      }
      if (answer === null) {
        break;
      }
      rows.push(answer.row);
      show(rows, answer);
      if (rows.length === answer.count) {
        break;
      }
    }
    root.hidden = rows.length === 0;
  }

  function show(rows, { count, recommended }) {
    const [recorded] = rows;
    fill(
      body,
      rows.map((row) => settingRow(row, row.place === recommended && rows.length === count, recorded)),
    );
    advice.textContent =
      rows.length < count
        ? `Replaying setting ${rows.length + 1} of ${count} …`
        : recommended === null
          ? 'No other setting is better than the recorded one.'
          : '';
  }

  function settingRow(row, isBest, recorded) {
    const { place, conf, is_recorded: isRecorded, fate, fate_note: note, peak_reserved_bytes: peak, retries } = row;
    const less = recorded.peak_reserved_bytes - peak;
    const change = isRecorded || less === 0 || fate === 'fails' ? null : h('span', { class: 'change' }, less > 0 ? `−${bytesText(less)}` : `+${bytesText(-less)}`);
    const isShown = overlaid === place;
    return h(
      'tr',
      { class: isBest ? 'best' : null, 'data-fate': fate },
      h(
        'th',
        { scope: 'row' },
        h('code', {}, conf === '' ? 'default' : conf.replaceAll(',', ', ')),
        isRecorded && h('span', { class: 'tag' }, 'recorded'),
        isBest && h('span', { class: 'tag good' }, 'best'),
      ),
      h('td', { class: 'fate' }, note),
      h('td', { class: 'number' }, bytes(peak), change),
      h('td', { class: 'number' }, countText(retries)),
      h(
        'td',
        {},
        !isRecorded &&
          h('button', { type: 'button', class: 'link', 'aria-pressed': String(isShown), onclick: ({ target }) => press(place, target) }, isShown ? 'Hide' : 'Show on the timeline'),
      ),
    );
  }

  function press(place, button) {
    const isShown = overlaid === place;
    for (const other of body.querySelectorAll('button')) {
      other.textContent = 'Show on the timeline';
      other.setAttribute('aria-pressed', 'false');
    }
    overlay(isShown ? null : place);
    button.textContent = isShown ? 'Show on the timeline' : 'Hide';
    button.setAttribute('aria-pressed', String(!isShown));
  }

  function overlay(place) {
    if (overlaid !== place) {
      overlaid = place;
      on.overlay(place, capacity());
    }
  }

  // A replay keeps the worker busy, so the first comes when somebody looks.
  const seen = new IntersectionObserver(
    (changes) => {
      if (!asked && changes.some((change) => change.isIntersecting) && entries > 0) {
        asked = true;
        ask();
      }
    },
    { rootMargin: '200px' },
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
