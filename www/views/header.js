/** The top row: what this is, which file is open, another file, light or dark. */
import { h, fill } from './dom.js';
import { icon } from './icons.js';

/** @param {{browse: () => void, toggleTheme: () => void}} on */
export function headerView(on) {
  const file = h('span', { class: 'file-name' });
  const open = h('button', { type: 'button', class: 'button', onclick: on.browse }, icon('file'), h('span', {}, 'Open another file'));
  const theme = h('button', { type: 'button', class: 'icon-button', onclick: on.toggleTheme });
  const root = h('header', { class: 'top' }, h('span', { class: 'brand' }, 'oomscope'), file, h('span', { class: 'space' }), open, theme);

  return {
    root,
    update(state, changed) {
      if (changed.has('report') || changed.has('phase')) {
        const name = state.phase === 'report' ? state.report.file.name : '';
        file.textContent = name;
        file.title = name;
        open.hidden = state.phase === 'start';
        open.disabled = state.phase === 'loading';
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
