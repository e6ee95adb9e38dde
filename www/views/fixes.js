/** What to do, most effective first. */
import { h, prose } from './dom.js';
import { bytes } from './format.js';

const BASES = {
  replayed: 'replayed on this recording',
  measured: 'measured in this recording',
  estimated: 'estimated',
};

/** Null when there is nothing to say. */
export function fixesView(fixes) {
  if (fixes.length === 0) {
    return null;
  }
  return h('section', { class: 'card', 'aria-labelledby': 'fixes' }, h('h2', { id: 'fixes' }, 'What to do'), h('ol', { class: 'fixes' }, fixes.map(fix)));
}

function fix({ title, note, saves_bytes: saves, basis }) {
  const useless = saves === 0 && basis !== 'none';
  return h(
    'li',
    { class: useless ? 'fix useless' : 'fix' },
    h('div', { class: 'fix-words' }, h('h3', {}, prose(title)), h('p', {}, prose(note))),
    h('div', { class: 'fix-number' }, number(saves, useless), BASES[basis] && h('span', { class: 'basis' }, BASES[basis])),
  );
}

function number(saves, useless) {
  if (useless) {
    return h('strong', {}, 'saves nothing');
  }
  return saves !== null && h('strong', {}, 'saves ', bytes(saves));
}
