/**
 * Where the compiled module and the worker come from when the page has files of its own.
 *
 * The hosted page and the embed both find them beside this script. The offline page has no files:
 * the build puts `platform-offline.js` in this module's place, and nothing else differs.
 */
import { workerAddress } from './trusted.js';

// The query changes with every build, so that a browser never mixes the files of two of them.
const wasmUrl = new URL(`oomscope_bg.wasm?v=${BUILD_ID}`, import.meta.url);
const workerUrl = new URL(`oom-worker.js?v=${BUILD_ID}`, import.meta.url);

let compiling = null;

/** The module, compiled once for the page; a failure is not kept, so that the next call tries again. */
export function compiledModule() {
  compiling ??= fetchModule().catch((error) => {
    compiling = null;
    throw error;
  });
  return compiling;
}

async function fetchModule() {
  const response = await fetch(wasmUrl);
  if (!response.ok) {
    throw new Error(`${wasmUrl.pathname} answered ${response.status}`);
  }
  // Compiling while it arrives needs the type application/wasm, which not every server sends.
  return response.headers.get('content-type') === 'application/wasm'
    ? WebAssembly.compileStreaming(response)
    : WebAssembly.compile(await response.arrayBuffer());
}

/** A new worker, which waits for the compiled module. */
export function startWorker() {
  return new Worker(workerAddress(workerUrl), { name: 'oomscope' });
}
