/**
 * Stands in for `platform.js` in the offline page, where everything is in the one file: the module
 * as gzip in base64 in a data block, the worker as text in this bundle. Nothing is fetched.
 */
import { workerAddress } from './trusted.js';
import workerText from 'worker-text';

let compiling = null;

/** The module, compiled once for the page. */
export function compiledModule() {
  compiling ??= unpackModule();
  return compiling;
}

async function unpackModule() {
  const text = atob(document.getElementById('oomscope-wasm').textContent);
  const packed = Uint8Array.from(text, (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'));
  return WebAssembly.compile(await new Response(stream).arrayBuffer());
}

/** A new worker, which waits for the compiled module. */
export function startWorker() {
  const url = URL.createObjectURL(new Blob([workerText], { type: 'text/javascript' }));
  const worker = new Worker(workerAddress(url), { name: 'oomscope' });
  // The browser keeps what it needs of a URL that a worker was started from.
  URL.revokeObjectURL(url);
  return worker;
}
