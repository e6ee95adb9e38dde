/** The last row: which build this is, and the licences of what is in it. */
import { packages, texts } from 'licences';
import { fill, h } from './dom.js';
import { sheetView } from './sheet.js';

export function footerView() {
  const list = h('div', { class: 'licences' });
  const sheet = sheetView('licences', 'Licences', list);
  const open = () => {
    // Seldom looked at, so it is made when it is.
    if (list.childElementCount === 0) {
      fill(list, licences());
    }
    sheet.open();
  };
  const root = h(
    'footer',
    { class: 'bottom' },
    h('span', { 'data-test': 'version' }, `oomscope ${VERSION}${COMMIT && ` (${COMMIT})`}`),
    h('button', { type: 'button', class: 'link', 'data-test': 'show-licences', onclick: open }, 'Licences'),
    sheet.root,
  );
  return { root };
}

function licences() {
  const [own, ...others] = packages;
  return [
    h('p', {}, `oomscope is ${own.holders} and comes under ${own.licence}, at your option. It contains:`),
    h(
      'ul',
      {},
      others.map(({ name, version, licence, holders }) =>
        h('li', {}, h('strong', {}, `${name} ${version}`), ` ${licence}`, holders && h('span', { class: 'quiet' }, holders)),
      ),
    ),
    texts.map(({ licence, text }) => h('details', {}, h('summary', {}, licence), h('pre', { tabindex: '0' }, text))),
  ];
}
