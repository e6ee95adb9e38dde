/** The start screen: where a file is dropped or an error pasted, and how to get a file. */
import { SAMPLES } from '../samples.js';
import { code } from './code.js';
import { h, fill } from './dom.js';
import { icon } from './icons.js';

/** @param {{browse: () => void, browseFolder: () => void, sample: (sample: object) => void, explain: (text: string) => void}} on */
export function startView(on) {
  const toSamples = h('button', { type: 'button', class: 'button', hidden: true, onclick: showSamples }, 'Look at a sample');
  const browse = h('button', { type: 'button', class: 'button primary', onclick: on.browse }, 'Choose a file');
  const text = h('textarea', {
    rows: '4',
    spellcheck: 'false',
    autocomplete: 'off',
    placeholder: 'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate …',
    'aria-label': 'Error text',
    'data-test': 'error-text',
    // What is pasted is meant to be read.
    onpaste: () => setTimeout(explain),
    onkeydown: (event) => event.key === 'Enter' && (event.ctrlKey || event.metaKey) && explain(),
  });
  const explain = () => text.value.trim() !== '' && on.explain(text.value);
  const paste = h(
    'div',
    { class: 'paste' },
    h('p', { class: 'drop-title' }, 'Or paste the error'),
    text,
    h('div', { class: 'row' }, h('button', { type: 'button', class: 'button', 'data-test': 'explain', onclick: explain }, 'Explain it')),
    h('p', { class: 'forms' }, 'One message or a whole log; a log file can be dropped above as well'),
  );
  const snippet = h('div', {});
  const record = h(
    'details',
    { class: 'record' },
    h('summary', {}, icon('chevron'), 'How to record a snapshot'),
    h('p', {}, 'Add these lines before the model is built, run until memory runs out, and drop the file that they write here.'),
    snippet,
  );
  const samples = h(
    'section',
    { class: 'samples', 'data-test': 'samples', hidden: true },
    h('h2', {}, 'Or look at one of ours'),
    h('p', { class: 'forms' }, 'Recorded on an H200, one for each cause'),
    h('div', { class: 'sample-cards' }, SAMPLES.map(sampleCard)),
  );
  function showSamples() {
    samples.scrollIntoView({ block: 'center' });
    samples.querySelector('button').focus({ preventScroll: true });
  }
  function sampleCard(sample) {
    return h(
      'button',
      { type: 'button', class: 'sample', 'data-test': `sample-${sample.file}`, onclick: () => on.sample(sample) },
      h('span', { class: 'sample-title' }, sample.title),
      h('span', { class: 'sample-says' }, sample.says),
    );
  }
  const linkedName = h('strong', {});
  const linked = h('p', { class: 'linked', 'data-test': 'linked', hidden: true }, 'This link leads to a view of ', linkedName, '. A link carries no file: open yours of that name to see it.');
  const root = h(
    'main',
    { class: 'start' },
    h('h1', {}, 'Why did the GPU run out of memory?'),
    h('p', { class: 'lead' }, 'Open a PyTorch CUDA memory snapshot, or paste the error, and read what filled the memory, which lines of your code did it, and what would help.'),
    linked,
    h(
      'div',
      { class: 'drop', 'data-test': 'drop' },
      h('div', { class: 'drop-icon' }, icon('drop')),
      h('p', { class: 'drop-title' }, 'Drop a snapshot here, or several to compare'),
      h(
        'div',
        { class: 'row' },
        browse,
        toSamples,
      ),
      h('p', { class: 'forms' }, '.pickle, also packed as .gz, .xz, .zst or .zip; pages saved from PyTorch’s viewer; JSON'),
      h(
        'p',
        { class: 'forms' },
        'Two moments of a run, a run before and after a change, or a folder with one file for each rank are compared. ',
        h('button', { type: 'button', class: 'link', onclick: on.browseFolder }, 'Choose a folder'),
      ),
    ),
    paste,
    h('p', { class: 'private' }, 'Nothing leaves this machine: all is read inside this page, and no server sees it.'),
    record,
    samples,
  );

  return {
    root,
    /** The name of the file that the page's address is about; none for an empty one. */
    setLinked(name) {
      linkedName.textContent = name;
      linked.hidden = name === '';
    },
    setSamples(present) {
      samples.hidden = !present;
      toSamples.hidden = !present;
    },
    update(state, changed) {
      if (changed.has('recordCode') && state.recordCode !== null) {
        fill(snippet, code(state.recordCode));
      }
    },
    focus() {
      browse.focus({ preventScroll: true });
    },
  };
}
