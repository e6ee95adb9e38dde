/** A few line drawings, 20 by 20. */

const SVG = 'http://www.w3.org/2000/svg';

const PATHS = {
  drop: 'M10 3v9m-4-3.5L10 12.5l4-4M3.5 14v1.5a1.5 1.5 0 0 0 1.5 1.5h10a1.5 1.5 0 0 0 1.5-1.5V14',
  copy: 'M7.5 7.5h9v9h-9zM12.5 7.5v-4h-9v9h4',
  check: 'M4 10.5l4 4 8-9',
  plus: 'M10 4v12M4 10h12',
  minus: 'M4 10h12',
  whole: 'M3 10h14M6 7l-3 3 3 3M14 7l3 3-3 3',
  chevron: 'M7.5 5l5 5-5 5',
  save: 'M10 2.500v9m-3.500-3L10 12l3.500-3.500M5 6.500H3.500v11h13v-11H15',
  image: 'M3 4h14v12H3zM3 13l4-4 4 4 2.500-2.500L17 14M13.500 7.500h.01',
  vector: 'M4 15c2-9 10-9 12 0M2.500 13.500h3v3h-3zM14.500 13.500h3v3h-3zM8.500 6.500h3v3h-3z',
  keys: 'M2.500 5.500h15v9h-15zM5.500 8.500h.01M8.500 8.500h.01M11.500 8.500h.01M14.500 8.500h.01M6.500 11.500h7',
  close: 'M5 5l10 10M15 5L5 15',
  sun: 'M10 6.5a3.5 3.5 0 1 0 0 7a3.5 3.5 0 1 0 0-7M10 1.5v2M10 16.5v2M1.5 10h2M16.5 10h2M4 4l1.400 1.400M14.600 14.600L16 16M4 16l1.400-1.400M14.600 5.400L16 4',
  moon: 'M16.5 11.800A7 7 0 0 1 8.200 3.5a7 7 0 1 0 8.300 8.300z',
  folder: 'M2.5 5.500v10h15v-8.500h-7.500l-2-2h-5z',
  compare: 'M3.5 16.500v-7h4v7M12.500 16.500v-13h4v13M2 16.500h16',
  back: 'M9 4.500L3.500 10L9 15.500M4 10h13',
  swap: 'M3 7h13M12.500 3.500L16 7l-3.500 3.500M17 13h-13M7.500 9.500L4 13l3.500 3.500',
  file: 'M5 2.5h6.5L15.5 6.5v11h-10.5zM11.5 2.5v4h4',
};

export function icon(name) {
  const svg = document.createElementNS(SVG, 'svg');
  svg.setAttribute('viewBox', '0 0 20 20');
  svg.setAttribute('class', 'icon');
  svg.setAttribute('aria-hidden', 'true');
  const path = document.createElementNS(SVG, 'path');
  path.setAttribute('d', PATHS[name]);
  svg.append(path);
  return svg;
}
