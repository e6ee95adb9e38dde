/** A single file where several were meant, or a summary by itself; or none, where none could be read. */
import { barView } from './bar.js';
import { h, prose } from './dom.js';
import { bytes, countText } from './format.js';
import { siteRows } from './sites.js';

const NONE = 'None of these files could be read';

/**
 * @param {object | null} alone
 * @param {HTMLElement | false} leftOut the files that could not be read
 * @param {{open: (name: string) => void}} on
 */
export function aloneView(alone, leftOut, on) {
  const headline = h('h1', { 'data-test': 'compare-headline', tabindex: '-1', id: 'headline' }, prose(alone?.headline ?? NONE));
  const root = h(
    'main',
    { class: 'report compare' },
    h('section', { class: 'card verdict', 'aria-labelledby': 'headline' }, alone && top(alone, on), headline, alone && [h('p', { class: 'summary' }, says(alone)), alone.facts.map((fact) => h('p', { class: 'summary' }, prose(fact))), alone.peak.length > 0 && barView(alone.peak, 'Allocated at the peak')], leftOut),
    alone && alone.sites.length > 0 && sites(alone),
  );
  return { root, focus: () => headline.focus({ preventScroll: true }) };
}

function top({ name, is_summary: isSummary }, on) {
  return h(
    'div',
    { class: 'verdict-top' },
    h('span', { class: 'badge', 'data-tone': 'plain' }, isSummary ? 'A summary' : 'One file'),
    h('span', { class: 'space' }),
    !isSummary && h('button', { type: 'button', class: 'button', 'data-test': 'open-full', onclick: () => on.open(name) }, 'Open in full'),
  );
}

function says({ name, is_summary: isSummary }) {
  return isSummary
    ? `This is a summary of ${name}: drop it together with another file to compare them, or drop the snapshot itself for its timeline.`
    : `Only ${name} could be read, so there is nothing to compare it with.`;
}

function sites({ sites: held }) {
  return h(
    'section',
    { class: 'card', 'aria-labelledby': 'sites' },
    h('h2', { id: 'sites' }, 'Lines that hold most at the peak'),
    h(
      'div',
      { class: 'scroller' },
      h(
        'table',
        { class: 'lines sites' },
        h('thead', {}, h('tr', {}, ['Line', 'Category', 'Blocks', 'Bytes'].map((name, place) => h('th', { scope: 'col', class: place > 1 ? 'number' : null }, name)))),
        h('tbody', {}, held.map((site, place) => siteRows(site, `site-${place}`, [h('td', { class: 'number blocks' }, countText(site.count)), h('td', { class: 'number' }, bytes(site.bytes))]))),
      ),
    ),
  );
}
