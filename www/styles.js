/** The element's styles: one sheet, for all elements of a page. */
import base from './style.css';
import blocks from './views/blocks.css';
import compare from './views/compare.css';
import explore from './views/explore.css';
import narrow from './views/narrow.css';
import rows from './views/rows.css';
import sheet from './views/sheet.css';
import stacks from './views/stacks.css';
import start from './views/start.css';
import tables from './views/tables.css';
import timeline from './views/timeline.css';
import touch from './views/touch.css';
import verdict from './views/verdict.css';
import whatIf from './views/whatif.css';

export const styles = new CSSStyleSheet();
// In this order: what is narrow or touched comes over all else.
styles.replaceSync([base, start, verdict, timeline, blocks, explore, stacks, tables, rows, whatIf, compare, sheet, narrow, touch].join('\n'));
