/**
 * Stands in for `platform.js` in the offline page, where everything is in the one file: the module
 * as gzip in base64 in a data block, the worker as text in this bundle. Nothing is fetched.
 */
import skeleton from 'page-skeleton';
import workerText from 'worker-text';
import { bytesOf } from './base64.js';
import { filled } from './skeleton.js';
import { workerAddress } from './trusted.js';

let compiling = null;

/** The module, compiled once for the page. */
export function compiledModule() {
  compiling ??= unpackModule();
  return compiling;
}

async function unpackModule() {
  const packed = bytesOf(document.getElementById('oomscope-wasm').textContent);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'));
  return WebAssembly.compile(await new Response(stream).arrayBuffer());
}

/**
 * This page as it was built. What the browser made of it since is no page to save, so it is put
 * together anew from the pieces that nothing changes.
 */
export async function offlinePage() {
  const textOf = (id) => document.getElementById(id).textContent;
  return filled(skeleton, {
    policy: document.querySelector('meta[http-equiv="Content-Security-Policy"]').content,
    style: textOf('oomscope-style'),
    wasm: textOf('oomscope-wasm'),
    script: textOf('oomscope-script'),
  });
}

/** A new worker, which waits for the compiled module. */
export function startWorker() {
  const url = URL.createObjectURL(new Blob([workerText], { type: 'text/javascript' }));
  const worker = new Worker(workerAddress(url), { name: 'oomscope' });
  // The browser keeps what it needs of a URL that a worker was started from.
  URL.revokeObjectURL(url);
  return worker;
}
