/** What an out-of-memory error says: its numbers, what it leaves possible, what to do next. */
import { barView } from './bar.js';
import { code } from './code.js';
import { copyButton } from './copy.js';
import { h, prose } from './dom.js';
import { bytes, countText } from './format.js';

/**
 * Paste, result and next step come first, so that they share one screen.
 *
 * @param {object} reading as `readMessage` answers it, with the text itself in `source`
 * @param {{browse: () => void, back: () => void, explain: (text: string) => void}} on
 */
export function messageView(reading, on) {
  const headline = h('h1', { 'data-test': 'message-headline', tabindex: '-1' }, reading.headline);
  const [first, ...others] = reading.causes;
  const [best, ...more] = reading.advice;
  const root = h(
    'main',
    { class: 'report', 'data-test': 'message' },
    h(
      'section',
      { class: 'card verdict paste' },
      pasted(reading.source, on),
      h(
        'div',
        { class: 'verdict-top' },
        h('span', { class: 'badge', 'data-tone': reading.recognised ? 'bad' : 'unsure' }, reading.recognised ? 'Error text' : 'Not recognised'),
        h('span', { class: 'confidence' }, [reading.recognised && reading.backend_label, reading.torch_version && `PyTorch ${reading.torch_version}`].filter(Boolean).join(' · ')),
        h('span', { class: 'space' }),
        h('button', { type: 'button', class: 'button', onclick: on.back }, 'Start again'),
        copyButton(reading.text, { label: 'Copy as text', title: 'Copy all of this as plain text' }),
      ),
      headline,
      h(
        'div',
        { class: 'answer', 'data-test': 'answer' },
        reading.recognised && h('div', {}, causes(first ? [first] : [])),
        h('div', {}, nextStep(best, reading.snippet), !reading.recognised && openRow(on)),
      ),
      reading.bar && barFigure(reading.bar),
      others.length > 0 && causes(others),
    ),
    more.length > 0 && card('What else to do', h('ol', { class: 'fixes' }, more.map(({ title, note }) => fix(title, note)))),
    reading.snippet && snippetCard(reading.snippet, on),
    reading.explanations.length > 0 && card('What the numbers mean', numbers(reading.explanations)),
    reading.misjudgements.length > 0 &&
      card('What is not so', h('ul', { class: 'fixes' }, reading.misjudgements.map(({ belief, truth }) => fix(`“${belief}”`, truth)))),
    reading.messages.length > 1 && card('All messages in the text', messages(reading.messages)),
  );
  return { root, headline };
}

/** The text that was read, to be replaced by another. */
function pasted(source, on) {
  const text = h('textarea', { rows: '2', spellcheck: 'false', autocomplete: 'off', 'aria-label': 'Error text', 'data-test': 'pasted' });
  text.value = source;
  const explain = () => text.value !== source && text.value.trim() !== '' && on.explain(text.value);
  text.addEventListener('paste', () => setTimeout(explain));
  text.addEventListener('change', explain);
  return text;
}

function card(title, ...content) {
  return h('section', { class: 'card', 'aria-label': title }, h('h2', {}, title), content);
}

function fix(title, note) {
  return h('li', { class: 'fix' }, h('div', { class: 'fix-words' }, h('h3', {}, prose(title)), h('p', {}, prose(note))));
}

function barFigure({ parts, request_bytes: asked }) {
  return [
    barView(parts, 'The device’s memory, as the text tells it'),
    asked && h('p', { class: 'margin' }, 'Asked for beside it: ', bytes(asked), '.'),
  ];
}

function causes(all) {
  const words = [
    [0.9, 'nearly certain'],
    [0.7, 'likely'],
    [0.45, 'plausible'],
  ];
  const said = (confidence) => words.find(([least]) => confidence >= least)?.[1] ?? 'possible';
  return h(
    'ol',
    { class: 'causes' },
    all.map(({ label, confidence, because }) =>
      h('li', {}, h('h3', {}, capital(label), h('span', { class: 'confidence' }, said(confidence))), h('p', {}, prose(because))),
    ),
  );
}

function numbers(explanations) {
  return h(
    'ul',
    { class: 'notes' },
    explanations.map(({ sentence, is_stated: stated }) => h('li', {}, prose(sentence), !stated && h('span', { class: 'tag' }, 'worked out'))),
  );
}

function snippetCard({ why, place, notes, records }, on) {
  return card(
    'About these lines',
    [why, place].map((sentence) => h('p', {}, prose(sentence))),
    h('ul', { class: 'notes' }, notes.map((note) => h('li', {}, prose(note)))),
    records && openRow(on),
  );
}

function nextStep(best, snippet) {
  return [h('h2', {}, 'Next step'), best && h('p', {}, h('strong', {}, prose(best.title)), '. ', prose(best.note)), snippet && code(snippet.code)];
}

function openRow(on) {
  return h('div', { class: 'row start-row' }, h('button', { type: 'button', class: 'button primary', onclick: on.browse }, 'Open the snapshot'));
}

function messages(all) {
  return h(
    'ol',
    { class: 'found' },
    all.map(({ line, times, excerpt, is_judged: judged }) =>
      h(
        'li',
        {},
        h('span', { class: 'confidence' }, `Line ${countText(line)}${times > 1 ? `, ${countText(times)} times` : ''}${judged ? ', the one judged' : ''}`),
        h('pre', {}, excerpt),
      ),
    ),
  );
}

function capital(label) {
  return label.charAt(0).toUpperCase() + label.slice(1);
}
