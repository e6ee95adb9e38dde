/** The server behind `make serve` and these tests. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import path from 'node:path';
import { after, test } from 'node:test';
import { serve } from '../../www/serve.mjs';
import { temporaryFolder } from './files.mjs';

const folder = temporaryFolder();
mkdirSync(path.join(folder, 'site'));
writeFileSync(path.join(folder, 'site/index.html'), 'home');
writeFileSync(path.join(folder, 'site/a.wasm'), '');
writeFileSync(path.join(folder, 'secret'), 'secret');
const server = await serve(path.join(folder, 'site'));
after(() => server.close());

/** Asks for the path as it is written, which `fetch` would tidy up first. */
async function ask(target) {
  const asked = request({ port: server.address().port, host: '127.0.0.1', path: target, agent: false }).end();
  const [response] = await once(asked, 'response');
  response.resume();
  return response;
}

test('a folder gives its index', async () => {
  const response = await ask('/?src=x');
  assert.equal(response.statusCode, 200);
  assert.match(response.headers['content-type'], /^text\/html/);
});

test('wasm has its type', async () => {
  assert.equal((await ask('/a.wasm')).headers['content-type'], 'application/wasm');
});

for (const target of ['/../secret', '/%2e%2e/secret', '/..%2fsecret', '/a.wasm%00', '/%', '/missing', '//']) {
  test(`${target} is not found`, async () => {
    assert.equal((await ask(target)).statusCode, 404);
  });
}
