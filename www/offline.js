/** Boots the offline page: the element, and the snapshot that may lie inside the page. */
import './element.js';
import { takeSnapshot } from './saved.js';

const inside = takeSnapshot();

if (inside !== null) {
  document.querySelector('oom-scope').open(inside.blob, inside.name, inside.view);
}
