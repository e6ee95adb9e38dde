/** What to do, the largest saving first, and what would not help. */
import { code } from './code.js';
import { h, prose } from './dom.js';
import { bytes } from './format.js';

const BASES = {
  replayed: 'replayed on this recording',
  measured: 'measured in this recording',
  estimated: 'estimated',
};

/** Null when there is nothing to say. */
export function fixesView({ fixes, fixes_title: title }) {
  if (fixes.length === 0) {
    return null;
  }
  const helpful = fixes.filter((fix) => fix.helps);
  const useless = fixes.filter((fix) => !fix.helps);
  return h(
    'section',
    { class: 'card', 'data-test': 'fixes', 'aria-labelledby': 'fixes' },
    helpful.length > 0 && [h('h2', { id: 'fixes' }, title), h('ol', { class: 'fixes' }, helpful.map(fixItem))],
    useless.length > 0 && [
      h('h2', { class: 'useless-title', ...(helpful.length === 0 && { id: 'fixes' }) }, 'What would not help'),
      h('ul', { class: 'fixes useless' }, useless.map(uselessItem)),
    ],
  );
}

function fixItem({ title, note, cost, snippet, saves_bytes: saves, basis }) {
  return h(
    'li',
    { class: 'fix' },
    h(
      'div',
      { class: 'fix-words' },
      h('h3', {}, prose(title)),
      h('p', {}, prose(note)),
      cost !== '' && h('p', {}, h('strong', {}, 'Cost: '), prose(cost)),
      snippet !== null && code(snippet),
    ),
    saves !== null &&
      h('div', { class: 'fix-number' }, h('strong', {}, 'saves ', bytes(saves)), BASES[basis] && h('span', { class: 'basis' }, BASES[basis])),
  );
}

function uselessItem({ title, note }) {
  return h('li', { class: 'fix' }, h('div', { class: 'fix-words' }, h('h3', {}, prose(title)), h('p', {}, prose(note))));
}
