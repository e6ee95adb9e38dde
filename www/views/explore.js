/**
 * What the report rests on, to be questioned: stacks, allocations and steps. All but the steps count
 * the same selection, an instant or a range of the timeline, and say which.
 */
import { allocationsView } from './allocations.js';
import { fill, h } from './dom.js';
import { countText } from './format.js';
import { icon } from './icons.js';
import { stacksView } from './stacks.js';
import { stepsView } from './steps.js';

const COUNTED = [
  ['kept', 'made in it and still held after it'],
  ['allocated', 'made in it'],
  ['freed', 'freed in it'],
  ['live', 'held after it'],
];

/** The last rest of typing before a filter is asked for. */
const TYPING_MS = 200;

/**
 * @param {object} on
 * @param {(kind: string, payload: object) => Promise<any>} on.ask the worker
 * @param {(tab: string) => void} on.tab
 * @param {(counted: string) => void} on.counted
 * @param {(text: string) => void} on.text the stacks must contain
 * @param {(category: string | null) => void} on.emphasis
 * @param {(range: {begin: number, end: number} | null) => void} on.range
 * @param {(entry: number) => void} on.show an entry in the timeline
 * @param {AbortSignal} signal
 */
export function exploreView(on, signal) {
  const views = {
    stacks: { label: 'Stacks', ...stacksView(on, signal) },
    allocations: { label: 'Allocations', ...allocationsView(on, signal) },
    steps: { label: 'Steps', ...stepsView(on, signal) },
  };
  const names = Object.keys(views);
  const tabs = Object.fromEntries(
    names.map((name) => [
      name,
      h('button', { type: 'button', role: 'tab', id: `tab-${name}`, 'aria-controls': `panel-${name}`, 'data-test': `tab-${name}`, onclick: () => on.tab(name) }, views[name].label),
    ]),
  );
  const panels = Object.fromEntries(
    names.map((name) => [name, h('div', { role: 'tabpanel', id: `panel-${name}`, 'aria-labelledby': `tab-${name}`, class: 'panel' }, views[name].root)]),
  );
  const moment = h('p', { class: 'moment', 'data-test': 'moment' });
  const counted = h('select', { 'aria-label': 'What to count of the range', 'data-test': 'counted', onchange: () => on.counted(counted.value) }, COUNTED.map(([value, label]) => h('option', { value }, label)));
  const release = h('button', { type: 'button', class: 'link', onclick: () => on.range(null) }, 'Let go of the range');
  const needle = h('input', { type: 'search', placeholder: 'Function or file in the stack', 'aria-label': 'Only stacks that contain', 'data-test': 'needle', spellcheck: 'false', autocapitalize: 'off' });
  const only = h('button', { type: 'button', class: 'chip', title: 'Count all categories', onclick: () => on.emphasis(null) });
  const list = h('div', { role: 'tablist', class: 'tabs', 'aria-label': 'Explore' }, Object.values(tabs));
  const chosen = h('div', { class: 'chosen' }, moment, counted, release, h('span', { class: 'space' }), only, needle);
  const root = h(
    'section',
    { class: 'card explore', 'data-test': 'explore', 'aria-labelledby': 'explore-title' },
    h('div', { class: 'explore-top' }, h('h2', { id: 'explore-title' }, 'Explore'), list),
    chosen,
    Object.values(panels),
  );

  let typing = null;
  needle.addEventListener('input', () => {
    clearTimeout(typing);
    typing = setTimeout(() => on.text(needle.value), TYPING_MS);
  });
  signal.addEventListener('abort', () => clearTimeout(typing));

  list.addEventListener('keydown', (event) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (by !== undefined) {
      event.preventDefault();
      event.stopPropagation();
      const next = names[(names.indexOf(shown) + by + names.length) % names.length];
      on.tab(next);
      tabs[next].focus();
    }
  });

  let shown = names[0];

  return {
    root,
    update(state, changed) {
      if (changed.has('tab') || changed.has('report')) {
        shown = state.tab;
        for (const name of names) {
          const isShown = name === shown;
          tabs[name].setAttribute('aria-selected', String(isShown));
          tabs[name].tabIndex = isShown ? 0 : -1;
          panels[name].hidden = !isShown;
        }
        chosen.hidden = shown === 'steps';
      }
      if (['range', 'pinned', 'device', 'report'].some((key) => changed.has(key))) {
        moment.textContent = momentText(state);
        counted.hidden = state.range === null;
        release.hidden = state.range === null;
      }
      if (changed.has('counted')) {
        counted.value = state.counted;
      }
      if (changed.has('emphasis')) {
        only.hidden = state.emphasis === null;
        fill(only, `only ${(state.emphasis ?? '').replaceAll('_', ' ')}`, icon('close'));
      }
      if (changed.has('text') && needle.value !== state.text) {
        needle.value = state.text;
      }
      Object.values(views).forEach((view) => view.update(state, changed));
    },
    /** The search field, wherever the keyboard was. */
    search() {
      if (shown === 'steps') {
        on.tab('stacks');
      }
      needle.focus();
    },
    focus: () => root.scrollIntoView({ block: 'nearest' }),
  };
}

function momentText({ range, pinned, report, device }) {
  const entries = report?.devices.find((each) => each.device === device)?.entries ?? 0;
  if (range !== null) {
    return `Entries ${countText(range.begin)} to ${countText(range.end - 1)}: what was`;
  }
  if (pinned !== null) {
    return `What is held after entry ${countText(pinned)}`;
  }
  return entries === 0 ? 'What is held at the end' : `What is held after the last entry, ${countText(entries - 1)}`;
}
