/** The top row: what this is, which file is open, another file, light or dark. */
import { h, fill } from './dom.js';
import { icon } from './icons.js';

/** @param {{start: () => void, browse: () => void, compare: () => void, back: () => void, toggleTheme: () => void}} on */
export function headerView(on) {
  const file = h('span', { class: 'file-name' });
  const open = h('button', { type: 'button', class: 'button', onclick: on.browse }, icon('file'), h('span', {}, 'Open another file'));
  const compare = h('button', { type: 'button', class: 'button', 'data-test': 'compare-with', title: 'Compare this file with others', onclick: on.compare }, icon('compare'), h('span', {}, 'Compare with …'));
  const back = h('button', { type: 'button', class: 'button', 'data-test': 'back', onclick: on.back }, icon('back'), h('span', {}, 'Back to the comparison'));
  const brand = h('button', { type: 'button', class: 'brand', 'data-test': 'brand', title: 'Close the file and start anew', onclick: on.start }, 'oomscope');
  const theme = h('button', { type: 'button', class: 'icon-button', onclick: on.toggleTheme });
  const root = h('header', { class: 'top' }, brand, back, file, h('span', { class: 'space' }), compare, open, theme);

  return {
    root,
    update(state, changed) {
      if (['report', 'compared', 'phase'].some((key) => changed.has(key))) {
        const name = state.phase === 'report' ? state.report.file.name : '';
        file.textContent = name;
        file.title = name;
        const isBusy = state.phase === 'loading' || state.phase === 'comparing';
        brand.disabled = isBusy || state.phase === 'start';
        open.hidden = state.phase === 'start';
        open.disabled = isBusy;
        compare.hidden = state.phase !== 'report';
        back.hidden = state.phase !== 'report' || state.compared === null;
      }
      if (changed.has('theme')) {
        const other = state.theme === 'dark' ? 'light' : 'dark';
        fill(theme, icon(other === 'light' ? 'sun' : 'moon'));
        theme.title = `Switch to ${other} colours`;
        theme.setAttribute('aria-label', theme.title);
      }
    },
  };
}
