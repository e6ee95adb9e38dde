/** The report in its order: verdict, what to do, timeline, lines, file. */
import { h } from './dom.js';
import { factsView } from './facts.js';
import { fixesView } from './fixes.js';
import { linesView } from './lines.js';
import { timelineView } from './timeline.js';
import { verdictView } from './verdict.js';

/**
 * Built once for each report.
 *
 * @param {import('#wasm').Painter} painter
 * @param {object} on the timeline's, and `copyText`, `show(entry)`, `device(number)`
 * @param {AbortSignal} signal
 */
export function reportView(report, painter, on, signal) {
  const { diagnosis, devices } = report;
  const verdict = verdictView(report, on);
  const timeline = timelineView(painter, on, signal);
  const empty = h('p', { class: 'quiet' });
  const switches = devices.length > 1 ? deviceSwitch(devices, diagnosis.device, on.device) : null;
  const labels = new Map(diagnosis.bar.map(({ key, label }) => [key, label]));
  const labelOf = (category) => labels.get(category) ?? category.replaceAll('_', ' ');
  const root = h(
    'main',
    { class: 'report' },
    verdict.root,
    fixesView(diagnosis.fixes),
    h('section', { class: 'card', 'aria-labelledby': 'timeline-title' }, h('div', { class: 'card-top' }, h('h2', { id: 'timeline-title' }, 'Timeline'), switches?.root), empty, timeline.root),
    linesView(diagnosis.lines, labelOf, diagnosis.moment),
    factsView(report),
  );

  return {
    root,
    update(state, changed) {
      if (changed.has('device') || changed.has('report')) {
        const device = devices.find((each) => each.device === state.device);
        const told = (device?.entries ?? 0) > 0;
        timeline.root.hidden = !told;
        empty.hidden = told;
        empty.textContent = device === undefined ? 'The file names no device.' : 'Nothing was recorded on this device, so there is no course of memory to draw; the totals below are those when the file was written.';
        switches?.update(state.device);
      }
      timeline.update(state, changed);
    },
    focus() {
      verdict.headline.focus({ preventScroll: true });
    },
    focusTimeline: timeline.focus,
  };
}

function deviceSwitch(devices, judged, onDevice) {
  const buttons = new Map(
    devices.map(({ device, label }) => [
      device,
      h('button', { type: 'button', class: 'segment', 'aria-pressed': 'false', title: device === judged ? 'The verdict is about this one' : null, onclick: () => onDevice(device) }, label),
    ]),
  );
  return {
    root: h('div', { class: 'segments', role: 'group', 'aria-label': 'Device' }, [...buttons.values()]),
    update(shown) {
      for (const [device, button] of buttons) {
        button.setAttribute('aria-pressed', String(device === shown));
      }
    },
  };
}
