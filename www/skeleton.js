/** Fills the skeleton of the offline page: the build does, and the page itself to save another one. */

/** @param {{policy: string, style: string, wasm: string, script: string}} pieces */
export function filled(skeleton, pieces) {
  return skeleton.replace(/\{(policy|style|wasm|script)\}/g, (_, name) => pieces[name]);
}
