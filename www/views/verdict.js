/** What happened, in words and in one bar. */
import { barView } from './bar.js';
import { code } from './code.js';
import { copyButton } from './copy.js';
import { h, prose } from './dom.js';
import { foldersView } from './folders.js';
import { bytes, countText } from './format.js';
import { toldButton } from './told.js';

/** Causes that are no failure of the program, or no finding at all. */
const TONES = { none: 'calm', insufficient_data: 'unsure' };

/**
 * @param {object} report
 * @param {{copyText: () => Promise<string>, copyMarkdown: () => Promise<string>, savePage: () => Promise<boolean>, leaveOutFolders: (isLeftOut: boolean) => void, show: (entry: number) => void}} on
 */
export function verdictView(report, on) {
  const { diagnosis, record } = report;
  const folders = foldersView(on.leaveOutFolders);
  const headline = h('h1', { 'data-test': 'headline', tabindex: '-1', id: 'headline' }, prose(diagnosis.headline));
  const root = h(
    'section',
    { class: 'card verdict', 'data-test': 'verdict', 'aria-labelledby': 'headline' },
    h(
      'div',
      { class: 'verdict-top' },
      h('span', { class: 'badge', 'data-tone': TONES[diagnosis.cause] ?? 'bad' }, diagnosis.cause_label),
      h('span', { class: 'confidence', title: `Confidence ${diagnosis.confidence.toFixed(2)} of 1` }, confidenceWords(diagnosis)),
      h(
        'div',
        { class: 'sharing' },
        folders.root,
        copyButton(on.copyMarkdown, { label: 'Copy as Markdown', title: 'Copy the verdict as Markdown, for an issue tracker' }),
        copyButton(on.copyText, { label: 'Copy as text', title: 'Copy the whole report as plain text', className: 'second' }),
        toldButton(on.savePage, {
          picture: 'save',
          label: 'Save as one HTML',
          title: 'Save this page with the snapshot and the view inside: one file that opens in any browser, without a network',
          done: 'Saved',
          failed: 'Not saved',
          why: 'The page could not be saved.',
          test: 'save-page',
        }),
      ),
    ),
    headline,
    diagnosis.shape && shapeView(diagnosis.shape),
    diagnosis.summary.map((sentence) => h('p', { class: 'summary' }, prose(sentence))),
    record && recordView(record),
    diagnosis.bar.length > 0 && barView(diagnosis.bar, barTitle(diagnosis)),
    diagnosis.margin_bytes !== null &&
      h('p', { class: 'margin' }, 'With ', bytes(diagnosis.margin_bytes), ' less in use at this moment, the request would have gone through.'),
    reasons(diagnosis, on),
  );
  return { root, headline, update: folders.update };
}

function shapeView({ form, label, meaning }) {
  return h('p', { class: 'shape', 'data-form': form }, h('strong', {}, `Shape: ${label}. `), meaning);
}

function confidenceWords({ cause, confidence }) {
  if (cause === 'insufficient_data' || cause === 'none') {
    return null;
  }
  const words = [
    [0.9, 'Nearly certain'],
    [0.7, 'Likely'],
    [0.45, 'Plausible'],
  ];
  return words.find(([least]) => confidence >= least)?.[1] ?? 'No more than a guess';
}

function barTitle({ moment, entry }) {
  const moments = {
    oom: `Reserved memory when the request failed, at entry ${countText(entry)}`,
    peak: `Reserved memory at the peak, at entry ${countText(entry)}`,
    end: 'Reserved memory when the file was written',
  };
  return moments[moment];
}

function recordView({ why, code: text }) {
  return h('div', { class: 'notice' }, h('h2', {}, 'Record a file that can tell'), h('p', {}, prose(why)), code(text));
}

function reasons({ entry: judged, cause, ranking, contributing, ruled_out: ruledOut }, onEvents) {
  // The judged entry is what the timeline shows anyway.
  const on = { show: (entry) => onEvents.show(entry), isNews: (entry) => entry !== null && entry !== judged };
  const own = ranking.filter((claim) => claim.cause === cause);
  const others = ranking.filter((claim) => claim.cause !== cause);
  return h(
    'div',
    { class: 'reasons' },
    reason('Why', own.flatMap((claim) => claim.evidence).map((evidence) => h('li', {}, statement(evidence, on)))),
    reason('What contributed', contributing.map((claim) => claimItem(claim, on))),
    reason('What else was weighed', others.map((claim) => claimItem(claim, on))),
    reason('What was ruled out', ruledOut.map((out) => h('li', {}, h('strong', {}, capital(out.label)), h('p', {}, prose(capital(out.because)))))),
  );
}

function reason(title, items) {
  return items.length > 0 && h('div', { class: title === 'Why' ? 'reason first' : 'reason' }, h('h2', {}, title), h('ul', {}, items));
}

function claimItem(claim, on) {
  return h(
    'li',
    {},
    h('strong', {}, capital(claim.label)),
    claim.evidence.map((evidence) => h('p', {}, statement(evidence, on))),
  );
}

/** A piece of evidence; the entry it speaks of can be looked at. */
function statement({ statement: text, entry }, on) {
  const show = on.isNews(entry) && [' ', h('button', { type: 'button', class: 'link', onclick: () => on.show(entry) }, `Show entry ${countText(entry)}`)];
  return [prose(text), show];
}

function capital(label) {
  return label.charAt(0).toUpperCase() + label.slice(1);
}
