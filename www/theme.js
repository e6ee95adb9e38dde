/** Light or dark: the attribute of the element, else what the user chose before, else the system. */
import { remember, remembered } from './remember.js';

const system = matchMedia('(prefers-color-scheme: dark)');

const isTheme = (value) => value === 'light' || value === 'dark';

/** @returns {'light' | 'dark'} */
export function wantedTheme(attribute) {
  const chosen = [attribute, remembered('theme')].find(isTheme);
  return chosen ?? (system.matches ? 'dark' : 'light');
}

export function rememberTheme(theme) {
  remember('theme', theme);
}

/** Calls back when the system changes; returns a function that ends it. */
export function onSystemTheme(callback) {
  system.addEventListener('change', callback);
  return () => system.removeEventListener('change', callback);
}
