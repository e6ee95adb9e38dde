/** What the file is, how much it can tell, and what was odd about it. */
import { h, prose } from './dom.js';
import { bytes, countText } from './format.js';

const CONTAINERS = { pickle: 'plain pickle', gzip: 'gzip', xz: 'xz', zstd: 'Zstandard', zip: 'zip', html: 'page with a snapshot inside', json: 'JSON' };

export function factsView(report) {
  const { file, warnings, devices } = report;
  const container = CONTAINERS[file.container] ?? file.container;
  const form = file.protocol === null ? container : `${container}, pickle protocol ${file.protocol}`;
  return h(
    'section',
    { class: 'card', 'aria-labelledby': 'facts' },
    h('h2', { id: 'facts' }, 'About the file'),
    h(
      'dl',
      { class: 'facts' },
      fact('File', h('span', { class: 'breakable' }, file.name), ', ', bytes(file.bytes), `, ${form}`),
      fact('History', prose(report.history_note)),
      fact('Stacks', prose(report.stacks_note)),
      report.alloc_conf !== null && fact('Allocator settings', report.alloc_conf === '' ? 'defaults' : h('code', {}, report.alloc_conf)),
      fact('Not in the file', prose(report.not_in_file)),
    ),
    h('div', { class: 'devices' }, devices.map((device) => deviceView(device, devices.length > 1))),
    warnings.length > 0 && [h('h3', {}, 'What was odd'), h('ul', { class: 'warnings' }, warnings.map(warning))],
  );
}

function fact(term, ...description) {
  return h('div', {}, h('dt', {}, term), h('dd', {}, description));
}

function warning({ count, message, kind }) {
  return h('li', { title: kind }, h('strong', {}, `${countText(count)} ×`), ' ', prose(message));
}

const MEASURES = ['requested', 'allocated', 'active', 'reserved'];

function deviceView(device, named) {
  const { peaks, end, ooms, steps, entries } = device;
  const head = ['', 'Peak', 'At entry', 'At the end'];
  return h(
    'div',
    { class: 'device-facts' },
    named && h('h3', {}, device.label),
    h(
      'table',
      { class: 'totals' },
      h('thead', {}, h('tr', {}, head.map((name, place) => (place === 0 ? h('td', {}) : h('th', { scope: 'col', class: 'number' }, name))))),
      h(
        'tbody',
        {},
        MEASURES.map((measure) =>
          h(
            'tr',
            {},
            h('th', { scope: 'row' }, measure.charAt(0).toUpperCase() + measure.slice(1)),
            h('td', { class: 'number' }, bytes(peaks[measure].bytes)),
            h('td', { class: 'number' }, entries > 0 ? countText(peaks[measure].entry) : '–'),
            h('td', { class: 'number' }, bytes(end[`${measure}_bytes`])),
          ),
        ),
      ),
    ),
    h('p', { class: 'quiet' }, [failures(ooms), stepsTold(steps)].filter(Boolean).join(' ')),
  );
}

function failures(ooms) {
  if (ooms.length === 0) {
    return 'No request failed.';
  }
  return ooms.length === 1 ? 'One request failed.' : `${countText(ooms.length)} requests failed.`;
}

function stepsTold(steps) {
  return steps.length > 0 && `${countText(steps.length)} ${steps.length === 1 ? 'step was' : 'steps were'} recognised.`;
}
