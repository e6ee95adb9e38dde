/** Whether each run would fit a card: the recorded requests, replayed on it. */
import { cards } from '#wasm';
import { fill, h, prose } from './dom.js';
import { countText } from './format.js';

const MIB = 2 ** 20;

/**
 * @param {{is_summary: boolean}[]} files
 * @param {string[]} sentences for the card asked about last; empty while they are not known
 * @param {object} on
 * @param {(capacity: number | null, onProgress: (comparing: object) => void) => Promise<string[]>} on.cards
 * @param {() => number | null} on.capacity of the card asked about last, in bytes
 */
export function cardsView(files, sentences, on) {
  if (files.every((file) => file.is_summary)) {
    return null;
  }
  const { cards: known, contextMib } = cards();
  const choice = h(
    'select',
    { 'aria-label': 'Card', 'data-test': 'compare-card', onchange: () => ask() },
    h('option', { value: '' }, 'Choose a card'),
    known.map(({ name, total_mib: total }) => h('option', { value: String((total - contextMib) * MIB) }, name)),
  );
  const doing = h('p', { class: 'quiet', role: 'status' });
  const list = h('ul', { class: 'card-answers', tabindex: '0', 'aria-label': 'Whether each fits', 'data-test': 'compare-cards' });
  let question = 0;

  const answer = (each) => fill(list, each.map((sentence) => h('li', {}, prose(sentence))));

  async function ask() {
    question += 1;
    const own = question;
    const capacity = choice.value === '' ? null : Number(choice.value);
    const tell = ({ read, files: all }) => {
      if (own === question) {
        doing.textContent = `Replaying: ${countText(read)} of ${countText(all)} files …`;
      }
    };
    fill(list);
    try {
      const each = await on.cards(capacity, tell);
      if (own === question) {
        doing.textContent = '';
        answer(each);
      }
    } catch (error) {
      if (own === question) {
        doing.textContent = error.message;
      }
    }
  }

  // The comparison may have been made again, the files swapped, while a card was chosen.
  if (on.capacity() !== null) {
    choice.value = String(on.capacity());
    if (sentences.length > 0) {
      answer(sentences);
    } else {
      ask();
    }
  }

  return h(
    'section',
    { class: 'card', 'aria-labelledby': 'cards' },
    h('h2', { id: 'cards' }, 'Would it fit?'),
    h('p', { class: 'quiet' }, 'The recorded requests of each file, run through PyTorch’s allocator on another card; and the least change that makes them fit.'),
    h('p', { class: 'compare-card' }, h('label', {}, 'On ', choice)),
    doing,
    list,
  );
}
