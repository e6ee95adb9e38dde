/** The error's text beside the snapshot: what only it knows. */
import { fill, h, prose } from './dom.js';

/**
 * @param {object} on
 * @param {(text: string) => Promise<object | null>} on.complete
 * @param {(limit: number) => void} on.limit what PyTorch could reserve, once the text says so
 */
export function completionView(on) {
  const text = h('textarea', {
    rows: '3',
    spellcheck: 'false',
    autocomplete: 'off',
    placeholder: 'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate …',
    'aria-label': 'The error’s text',
    'data-test': 'completion-text',
    oninput: () => read(),
  });
  const said = h('div', { class: 'completion', role: 'status', 'data-test': 'completion' });
  const root = h(
    'section',
    { class: 'card paste', 'aria-labelledby': 'completion' },
    h('h2', { id: 'completion' }, 'The error’s text'),
    h('p', { class: 'quiet' }, 'A limit, and what other processes hold, are in no snapshot. Paste the error to add them.'),
    text,
    said,
  );
  let asked = 0;

  async function read() {
    asked += 1;
    const own = asked;
    const answer = text.value.trim() === '' ? null : await on.complete(text.value).catch(() => null);
    if (own !== asked) {
      return;
    }
    const sentences = answer?.sentences ?? [];
    const isEmpty = text.value.trim() === '';
    fill(
      said,
      sentences.map((sentence) => h('p', {}, prose(sentence))),
      !isEmpty && sentences.length === 0 && h('p', {}, 'No numbers of an out-of-memory error are in this text.'),
    );
    if (answer?.limit_bytes) {
      on.limit(answer.limit_bytes);
    }
  }

  return { root };
}
