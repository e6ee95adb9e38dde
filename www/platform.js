/**
 * Where the compiled module, the worker and the page to save come from when the page has files of its own.
 *
 * The hosted page and the embed find them beside this script. The offline page has no files:
 * the build puts `platform-offline.js` in this module's place, and nothing else differs.
 */
import { workerAddress } from './trusted.js';

// The query changes with every build, so that a browser never mixes the files of two of them.
const wasmUrl = new URL(`oomscope_bg.wasm?v=${BUILD_ID}`, import.meta.url);
const workerUrl = new URL(`oom-worker.js?v=${BUILD_ID}`, import.meta.url);
const pageUrl = new URL(`oomscope.html?v=${BUILD_ID}`, import.meta.url);

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

/** The offline page, as it is built. */
export async function offlinePage() {
  const response = await fetch(pageUrl);
  if (!response.ok) {
    throw new Error(`${pageUrl.pathname} answered ${response.status}`);
  }
  return response.text();
}

/** A new worker, which waits for the compiled module. */
export function startWorker() {
  return new Worker(workerAddress(workerUrl), { name: 'oomscope' });
}
