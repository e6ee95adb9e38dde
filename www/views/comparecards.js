/** Whether each run would fit a card: the recorded requests, replayed on it. */
import { cards } from '#wasm';
import { fill, h, prose } from './dom.js';
import { countText } from './format.js';

const MIB = 2 ** 20;

/**
 * @param {{is_summary: boolean}[]} files
 * @param {{cards: (capacity: number | null, onProgress: (comparing: object) => void) => Promise<string[]>}} on
 */
export function cardsView(files, on) {
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
      const sentences = await on.cards(capacity, tell);
      if (own === question) {
        doing.textContent = '';
        fill(list, sentences.map((sentence) => h('li', {}, prose(sentence))));
      }
    } catch (error) {
      if (own === question) {
        doing.textContent = error.message;
      }
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
