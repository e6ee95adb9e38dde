/** A comparison in its order: verdict, where, what to do, both courses, the files. */
import { aloneView } from './alone.js';
import { cardsView } from './comparecards.js';
import { copyButton } from './copy.js';
import { courseView } from './course.js';
import { categoriesView, phasesView, sitesView } from './difference.js';
import { h, prose } from './dom.js';
import { foldersView } from './folders.js';
import { growthView } from './growth.js';
import { icon } from './icons.js';
import { ranksView } from './ranks.js';

/**
 * Built once for each comparison.
 *
 * @param {object} answer as the worker's `compare` gave it
 * @param {object} on
 * @param {() => void} on.swap
 * @param {(name: string) => void} on.open a file of the comparison, in full
 * @param {(capacity: number | null, onProgress: (comparing: object) => void) => Promise<string[]>} on.cards
 * @param {() => number | null} on.capacity of the card asked about last, in bytes
 * @param {() => string} on.copyText
 * @param {() => string} on.copyMarkdown
 * @param {(isLeftOut: boolean) => void} on.leaveOutFolders from what is copied
 */
export function compareView(answer, on) {
  const { comparison, alone, unreadable } = answer;
  if (comparison === null) {
    return { ...aloneView(alone, leftOut(unreadable), on), update() {}, close() {} };
  }
  const { difference, growth, ranks } = comparison;
  const headline = h('h1', { 'data-test': 'compare-headline', tabindex: '-1', id: 'headline' }, prose(comparison.headline));
  const folders = foldersView(on.leaveOutFolders);
  const course = comparison.course && courseView(comparison.course);
  const root = h(
    'main',
    { class: 'report compare', 'data-kind': comparison.kind },
    verdict(comparison, headline, folders.root, on),
    ranks && ranksView(ranks, comparison.files, on),
    growth && growthView(growth),
    categoriesView(difference, ranks === null ? null : `${difference.b} against ${difference.a}`),
    growth === null && sitesView(difference),
    growth === null && phasesView(difference),
    cardsView(comparison.files, comparison.cards, on),
    course?.root,
    ranks === null && filesView(comparison.files, on),
  );

  return {
    root,
    update(state, changed) {
      folders.update(state);
      course?.update(state, changed);
    },
    focus() {
      headline.focus({ preventScroll: true });
    },
    close() {
      course?.close();
    },
  };
}

function verdict(comparison, headline, folders, on) {
  const { kind_label: label, files, notes, unreadable, growth } = comparison;
  const canSwap = files.length === 2 && growth === null;
  return h(
    'section',
    { class: 'card verdict', 'aria-labelledby': 'headline' },
    h(
      'div',
      { class: 'verdict-top' },
      h('span', { class: 'badge', 'data-tone': 'plain' }, label),
      h('span', { class: 'space' }),
      canSwap && h('button', { type: 'button', class: 'button', 'data-test': 'swap', title: 'Make the second file the first', onclick: on.swap }, icon('swap'), h('span', {}, 'Swap')),
      folders,
      copyButton(on.copyMarkdown, { label: 'Copy as Markdown', title: 'Copy the comparison as Markdown, for an issue tracker' }),
      copyButton(on.copyText, { label: 'Copy as text', title: 'Copy the comparison as plain text', className: 'second' }),
    ),
    headline,
    notes.map((note) => h('p', { class: 'summary' }, prose(note))),
    leftOut(unreadable),
  );
}

/** The files that could not be read, each with the reason. */
function leftOut(unreadable) {
  return (
    unreadable.length > 0 &&
    h(
      'div',
      { class: 'notice', 'data-test': 'unreadable' },
      h('h2', {}, unreadable.length === 1 ? 'One file is left out' : `${unreadable.length} files are left out`),
      h('ul', { class: 'left-out' }, unreadable.map(({ name, message }) => h('li', {}, h('strong', {}, name), ': ', prose(message)))),
    )
  );
}

function filesView(files, on) {
  return h(
    'section',
    { class: 'card', 'aria-labelledby': 'files' },
    h('h2', { id: 'files' }, 'Each by itself'),
    h(
      'ul',
      { class: 'fixes' },
      files.map(({ name, is_summary: isSummary, headline }) =>
        h(
          'li',
          { class: 'fix' },
          h('div', { class: 'fix-words' }, h('h3', {}, name), h('p', {}, prose(headline))),
          isSummary
            ? h('span', { class: 'quiet' }, 'a summary')
            : h('button', { type: 'button', class: 'button', 'data-test': 'open-full', onclick: () => on.open(name) }, 'Open in full'),
        ),
      ),
    ),
  );
}
