/** The way from the error to its remedy, and what is often misjudged on it. */
import { h, prose } from './dom.js';

const SIGNS = { done: '✓', open: '○', warned: '!' };
const WORDS = { done: 'done', open: 'open', warned: 'beware' };

export function checklistView({ checklist, misjudgements }) {
  return h(
    'section',
    { class: 'card checklists', 'data-test': 'checklist', 'aria-label': 'Checklist' },
    list('Step by step', checklist, 'ol'),
    misjudgements.length > 0 && list('Often misjudged', misjudgements, 'ul'),
  );
}

function list(title, items, tag) {
  return h('div', {}, h('h2', {}, title), h(tag, { class: 'checklist' }, items.map(item)));
}

function item({ title, standing, note }) {
  return h(
    'li',
    { 'data-standing': standing },
    h('span', { class: 'standing', role: 'img', 'aria-label': WORDS[standing] }, SIGNS[standing]),
    h('div', {}, h('h3', {}, prose(title)), h('p', {}, prose(note))),
  );
}
