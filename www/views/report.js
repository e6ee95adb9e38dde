/** The report in its order: verdict, what to do, timeline, memory map, explorer, what if, lines, the error's text, checklist, file. */
import { blocksView } from './blocks.js';
import { checklistView } from './checklist.js';
import { completionView } from './completion.js';
import { deviceSwitch } from './devices.js';
import { h } from './dom.js';
import { helpView } from './help.js';
import { exploreView } from './explore.js';
import { factsView } from './facts.js';
import { fixesView } from './fixes.js';
import { linesView } from './lines.js';
import { timelineView } from './timeline.js';
import { verdictView } from './verdict.js';
import { whatIfView } from './whatif.js';

/** Keys of the timeline that are its own wherever the focus is; the others would take the page's. */
const ANYWHERE = new Set(['w', 'a', 's', 'd', '+', '=', '-', '_', '0', '[', ']', 'Escape']);

/**
 * Built once for each report.
 *
 * @param {import('#wasm').Painter} painter
 * @param {object} on the timeline's, the map's, the explorer's, and `copyText`, `leaveOutFolders(isLeftOut)`, `savePage`, `show(entry)`, `device(number)`
 * @param {AbortSignal} signal
 */
export function reportView(report, painter, on, signal) {
  const { diagnosis, devices } = report;
  const verdict = verdictView(report, on);
  const choice = devices.length > 1 ? deviceSwitch(devices, diagnosis.device, on.device) : null;
  const help = helpView();
  const timeline = timelineView(painter, { ...on, help: help.open }, signal, choice?.root ?? null);
  const blocks = blocksView(painter, on, signal);
  const explore = exploreView(on, signal);
  const whatIf = whatIfView(on);
  const completion = completionView({ complete: on.complete, limit: whatIf.limit });
  const labels = new Map(diagnosis.bar.map(({ key, label }) => [key, label]));
  const labelOf = (category) => labels.get(category) ?? category.replaceAll('_', ' ');
  const root = h(
    'main',
    { class: 'report' },
    verdict.root,
    fixesView(diagnosis),
    timeline.root,
    blocks.root,
    explore.root,
    whatIf.root,
    linesView(diagnosis.lines, labelOf, diagnosis.moment),
    completion.root,
    checklistView(diagnosis),
    factsView(report),
    help.root,
  );

  return {
    root,
    update(state, changed) {
      verdict.update(state);
      choice?.update(state);
      timeline.update(state, changed);
      blocks.update(state, changed);
      explore.update(state, changed);
      whatIf.update(state, changed);
    },
    focus() {
      verdict.headline.focus({ preventScroll: true });
    },
    focusTimeline: timeline.focus,
    /** Does what a key means anywhere in the report, and answers whether it means anything. */
    key(name) {
      const act = { '/': explore.search, '?': help.open }[name];
      act?.();
      return act !== undefined || (ANYWHERE.has(name) && timeline.key(name));
    },
  };
}
