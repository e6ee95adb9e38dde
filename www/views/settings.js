/** The allocator's settings side by side, as far as they are replayed. */
import { fill, h } from './dom.js';
import { bytes, bytesText, countText } from './format.js';

const COLUMNS = ['Setting', 'What happens', 'Reserved at most', 'Needs at least', 'Stalls', ''];

/**
 * @param {(place: number | null) => void} onOverlay a row to draw on the timeline, null for none
 */
export function settingTable(onOverlay) {
  const body = h('tbody', {});
  const head = h('thead', {}, h('tr', {}, COLUMNS.map((title) => h('th', { scope: 'col' }, title))));
  const root = h('table', { class: 'settings', 'data-test': 'settings' }, head, body);

  function row(row, isBest, recorded, isShown, isWorking) {
    const { place, conf, is_recorded: isRecorded, fate, fate_note: note } = row;
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
      h('td', { class: 'number', 'data-label': COLUMNS[2] }, h('span', {}, bytes(row.peak_reserved_bytes), change(row, recorded), band(row))),
      h('td', { class: 'number', 'data-label': COLUMNS[3] }, h('span', {}, least(row, isWorking))),
      h('td', { class: 'number', 'data-label': COLUMNS[4] }, h('span', {}, stalls(row))),
      h(
        'td',
        { class: 'act' },
        !isRecorded &&
          h(
            'button',
            { type: 'button', class: 'link', 'aria-pressed': String(isShown), 'data-place': String(place), onclick: () => onOverlay(isShown ? null : place) },
            isShown ? 'Hide' : 'Show on the timeline',
          ),
      ),
    );
  }

  return {
    root,
    /** @param {boolean} isWorking whether what is missing is still to come */
    update({ rows, count, recommended }, overlaid, isWorking) {
      // The buttons are made anew, and whoever had the focus keeps it.
      const focused = body.querySelector('button:focus')?.dataset.place;
      fill(
        body,
        rows.map((each) => row(each, rows.length === count && each.place === recommended, rows[0], overlaid === each.place, isWorking)),
      );
      if (focused !== undefined) {
        body.querySelector(`button[data-place="${focused}"]`)?.focus({ preventScroll: true });
      }
    },
  };
}

function change({ is_recorded: isRecorded, peak_reserved_bytes: peak, fate }, recorded) {
  const less = recorded.peak_reserved_bytes - peak;
  return isRecorded || less === 0 || fate === 'fails' ? null : h('span', { class: 'change' }, less > 0 ? `−${bytesText(less)}` : `+${bytesText(-less)}`);
}

/** Where the driver's choice of addresses decides, how far. */
function band({ band_bytes: band }) {
  return band === null || band[0] === band[1]
    ? null
    : h(
        'span',
        { class: 'change', 'data-test': 'band', title: 'Which of several equal holes is used depends on the addresses that the driver gives.' },
        `${bytesText(band[0])} to ${bytesText(band[1])} by address`,
      );
}

function least({ smallest_capacity_bytes: least }, isWorking) {
  if (least !== null) {
    return bytes(least);
  }
  return h('span', { class: 'change' }, isWorking ? '…' : 'not known');
}

/** Retries for a request, and the program's own calls. */
function stalls({ retries, cache_clears: clears }) {
  return [countText(retries), clears > 0 && h('span', { class: 'change own' }, `+ ${countText(clears)} by the program`)];
}
