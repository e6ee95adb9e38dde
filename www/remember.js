/** What the user chose, kept by the browser from visit to visit. Settings only: nothing of a file. */

const PREFIX = 'oomscope-';

export function remember(name, value) {
  try {
    localStorage.setItem(PREFIX + name, value);
  } catch {
    // A page without storage forgets, and nothing else.
  }
}

/** @returns {string | null} */
export function remembered(name) {
  try {
    return localStorage.getItem(PREFIX + name);
  } catch {
    return null;
  }
}
