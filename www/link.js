/**
 * The view of a report as the fragment of the page's address, so that a link or a reload leads back
 * to it. It names the file, for the file itself is in no address, and holds nothing that stands in
 * it: no line and no text that was searched for.
 */
import { entriesOf, EVERYTHING, freshDevice, freshReport } from './state.js';

const TABS = ['stacks', 'allocations', 'steps'];
const PICTURES = ['category', 'line', 'heap', 'addresses'];
const COUNTED = ['kept', 'allocated', 'freed', 'live'];

/** The fragment without its `#`: whatever differs from a report just opened. */
export function fragmentOf(state) {
  const { report, device } = state;
  const fresh = { ...freshReport(report), ...freshDevice(device, report) };
  const parts = new URLSearchParams({ file: report.file.name });
  const add = (name, value, usual) => value !== usual && value !== null && parts.set(name, value);
  add('device', device, report.diagnosis.device);
  add('picture', state.picture, fresh.picture);
  add('along', state.along, fresh.along);
  const length = state.whole?.view.length ?? fresh.window.end;
  add('shown', spanText(state.window), spanText({ begin: 0, end: length }));
  add('entry', state.pinned, fresh.pinned);
  add('range', state.range && spanText(state.range), null);
  add('counted', state.counted, fresh.counted);
  // A line has a colour of its own, but is chosen by its text.
  add('only', state.emphasis?.startsWith('line-') ? null : state.emphasis, null);
  add('tab', state.tab, fresh.tab);
  return parts.size > 1 ? parts.toString() : '';
}

/** The name of the file that a fragment is about; empty where it names none. */
export function fileOf(fragment) {
  return new URLSearchParams(fragment).get('file') ?? '';
}

/** What a fragment changes of a report just opened; nothing where it is of another file. */
export function stateOf(fragment, report) {
  const parts = new URLSearchParams(fragment);
  if (parts.get('file') !== report.file.name) {
    return {};
  }
  const chosen = Number(parts.get('device') ?? report.diagnosis.device);
  const device = report.devices.some((each) => each.device === chosen) ? chosen : report.diagnosis.device;
  const entries = entriesOf(report, device);
  const oneOf = (name, choices) => (choices.includes(parts.get(name)) ? { [name]: parts.get(name) } : {});
  const state = {
    ...freshDevice(device, report),
    ...oneOf('picture', PICTURES),
    ...oneOf('counted', COUNTED),
    ...oneOf('tab', TABS),
    emphasis: parts.get('only'),
    range: spanOf(parts.get('range'), entries),
  };
  const pinned = Number(parts.get('entry') ?? Number.NaN);
  if (Number.isInteger(pinned) && pinned >= 0 && pinned < entries) {
    state.pinned = pinned;
  }
  if (parts.get('along') === 'time') {
    state.along = 'time';
    state.window = spanOf(parts.get('shown'), EVERYTHING.end) ?? EVERYTHING;
  } else {
    state.window = spanOf(parts.get('shown'), entries) ?? state.window;
  }
  return state;
}

function spanText({ begin, end }) {
  return `${begin}-${end}`;
}

/** Two numbers in order and no larger than `most`, or null. */
function spanOf(text, most) {
  const [begin, end] = /^(\d+)-(\d+)$/.exec(text ?? '')?.slice(1).map(Number) ?? [];
  return begin < end && end <= most ? { begin, end } : null;
}
