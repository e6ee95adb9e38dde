/** The page's instance of the module, for all elements on it; it holds no state of theirs. */
import { initSync } from '#wasm';
import { compiledModule } from './platform.js';

let instance = null;

/** Until then, nothing of the module may be called. A failure is not kept: the next call tries again. */
export async function instanceReady() {
  instance ??= compiledModule().then((module) => initSync({ module }));
  try {
    await instance;
  } catch (error) {
    instance = null;
    throw error;
  }
}
