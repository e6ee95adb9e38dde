/**
 * A static server for the built pages, on this machine only: `node www/serve.mjs [DIRECTORY]`.
 */
import { createReadStream } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { createServer } from 'node:http';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const FIRST_PORT = 8000;
const LAST_PORT = 8099;

const TYPES = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json',
  '.md': 'text/markdown; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.wasm': 'application/wasm',
};

/** The file that a request means, or null: nothing outside `root`, `index.html` for a directory. */
async function fileFor(root, url) {
  let name;
  try {
    name = decodeURIComponent(new URL(url, 'http://localhost').pathname);
  } catch {
    return null;
  }
  const file = path.join(root, name.endsWith('/') ? `${name}index.html` : name);
  if (name.includes('\0') || !file.startsWith(root + path.sep)) {
    return null;
  }
  const found = await stat(file).catch(() => null);
  return found?.isFile() ? { file, bytes: found.size } : null;
}

async function answer(root, headers, request, response) {
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    response.writeHead(405, { allow: 'GET, HEAD' }).end();
    return;
  }
  const found = await fileFor(root, request.url);
  if (found === null) {
    response.writeHead(404, { 'content-type': 'text/plain' }).end('not found\n');
    return;
  }
  response.writeHead(200, {
    'cache-control': 'no-store',
    'content-length': found.bytes,
    'content-type': TYPES[path.extname(found.file)] ?? 'application/octet-stream',
    'x-content-type-options': 'nosniff',
    ...headers.get('/*'),
    ...headers.get(`/${path.relative(root, found.file)}`),
  });
  if (request.method === 'HEAD') {
    response.end();
    return;
  }
  createReadStream(found.file).on('error', () => response.destroy()).pipe(response);
}

/** What the file `_headers` of a built site says of all its files (`/*`) and of single ones; nothing where there is none. */
async function headersOf(root) {
  const text = await readFile(path.join(root, '_headers'), 'utf8').catch(() => '');
  const lines = (block) => Object.fromEntries([...block.matchAll(/^ +([a-z-]+): (.*)$/gm)].map(([, name, value]) => [name, value]));
  return new Map(text.split(/^(?=\/)/m).map((block) => [block.split('\n', 1)[0], lines(block)]));
}

/** Serves `directory` on 127.0.0.1 at `port`, 0 for any; gives the server once it listens. */
export async function serve(directory, port = 0) {
  const root = path.resolve(directory);
  const headers = await headersOf(root);
  const server = createServer((request, response) => answer(root, headers, request, response));
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => resolve(server));
  });
}

async function serveOnFreePort(directory) {
  for (let port = FIRST_PORT; port <= LAST_PORT; port++) {
    try {
      return await serve(directory, port);
    } catch (error) {
      if (error.code !== 'EADDRINUSE') {
        throw error;
      }
    }
  }
  return serve(directory);
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const server = await serveOnFreePort(process.argv[2] ?? 'dist/site');
  console.log(`oomscope is at http://127.0.0.1:${server.address().port}/ (Ctrl-C ends it)`);
}
