/**
 * Nothing leaves the page and nothing is kept, whatever is done with it: all features are used in
 * the three deliverables while requests, writes and violations of the policy are recorded.
 */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync, cpSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { serve } from '../../www/serve.mjs';
import { temporaryFolder } from './files.mjs';
import { choose, DIST, FIXTURE, opened, ROOT, setUp, visit } from './harness.mjs';
import { copied, saved, tour } from './tour.mjs';
import { assertNothingLeft, kept, watch } from './watch.mjs';

const folder = temporaryFolder();
const shared = setUp();

/** Serves a folder, and notes every request that arrives, of whoever. */
async function served(directory, use) {
  const hits = [];
  const server = await serve(directory);
  server.on('request', ({ method, url }) => hits.push(`${method} ${url.replace(/\?v=\w+$/, '')}`));
  try {
    await use(`http://127.0.0.1:${server.address().port}`, hits);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

/** Uses everything on the page at `url`; answers what it asked for. */
async function used(url, options = {}) {
  let seen;
  let asked;
  await visit(
    shared.browser,
    url,
    async (page, requests) => {
      await tour(page, folder, FIXTURE);
      await assertNothingLeft(page, seen);
      asked = requests.filter((request) => !/^(blob|data):/.test(request));
    },
    { ...options, prepare: async (page) => { seen = await watch(page); } },
  );
  return asked;
}

test('the hosted page asks its own site for its own files, and keeps settings only', () =>
  served(path.join(DIST, 'site'), async (origin, hits) => {
    await used(`${origin}/`);
    const own = ['/', '/icon.svg', '/oom-worker.js', '/oomscope.html', '/oomscope_bg.wasm', '/page.css', '/site.js'];
    assert.deepEqual([...new Set(hits)].sort(), own.map((name) => `GET ${name}`));
  }));

test('the element asks for its own files under the strictest policy that it can live with', () => {
  const pages = path.join(folder, 'docs');
  cpSync(path.join(DIST, 'embed'), path.join(pages, 'oomscope'), { recursive: true });
  writeFileSync(path.join(pages, 'index.html'), embedding(policyOfReadme()));
  return served(pages, async (origin, hits) => {
    await used(`${origin}/`);
    const own = ['/', '/oomscope/oom-scope.js', '/oomscope/oom-worker.js', '/oomscope/oomscope.html', '/oomscope/oomscope_bg.wasm'];
    assert.deepEqual([...new Set(hits)].sort(), own.map((name) => `GET ${name}`));
  });
});

test('the offline page asks for nothing', async () => {
  const url = pathToFileURL(path.join(DIST, 'oomscope.html')).href;
  assert.deepEqual(await used(url, { offline: true }), [url]);
});

test('what is watched for is seen', () =>
  served(path.join(DIST, 'embed'), async (origin, hits) => {
    let seen;
    await visit(
      shared.browser,
      `${origin}/README.md`,
      async (page, requests) => {
        await page.evaluate(async () => {
          localStorage.setItem('a', '1');
          localStorage.b = '2';
          document.cookie = 'c=3';
          indexedDB.open('d');
          await caches.open('e');
          await (await navigator.storage.getDirectory()).getFileHandle('f', { create: true });
          history.replaceState(null, '', '#text=g');
          navigator.sendBeacon('/h');
          await new Promise((resolve) => {
            const script = `fetch('${location.origin}/i').then(() => postMessage(''))`;
            new Worker(URL.createObjectURL(new Blob([script]))).onmessage = resolve;
          });
        });
        assert.deepEqual(seen.writes.toSorted(), ['beacon /h', 'caches e', 'cookie c=3', 'files', 'indexedDB d', 'storage a=1']);
        assert.deepEqual(seen.addresses, ['{"name":"replaceState","state":null,"address":"#text=g"}']);
        const { local, cookie, databases, caches, files } = await kept(page);
        assert.deepEqual([local, cookie, databases[0].name, caches, files], [[['a', '1'], ['b', '2']], 'c=3', 'd', ['e'], ['f']]);
        assert.ok(requests.includes(`${origin}/i`) && requests.includes(`${origin}/h`));
        assert.ok(hits.includes('GET /i') && hits.includes('POST /h'), hits.join());
        await assert.rejects(assertNothingLeft(page, seen));
      },
      { provokes: true, prepare: async (page) => { seen = await watch(page); } },
    );
  }));

test('the policy stops what somebody else’s script would do', () =>
  served(path.join(DIST, 'site'), (origin) =>
    visit(
      shared.browser,
      `${origin}/`,
      async (page) => {
        const stopped = await page.evaluate(async () => {
          const fails = async (act) => {
            try {
              await act();
              return false;
            } catch {
              return true;
            }
          };
          const script = document.createElement('script');
          return {
            fetch: await fails(() => fetch('http://127.0.0.1:1/')),
            markup: await fails(() => { document.body.innerHTML = '<b>x</b>'; }),
            address: await fails(() => { script.src = 'https://example.org/x.js'; }),
            text: await fails(() => { script.textContent = '1'; }),
            // Not in this call, which the browser exempts.
            code: await new Promise((resolve) => {
              setTimeout(() => resolve(fails(() => new Function('1'))));
            }),
            policy: await fails(() => trustedTypes.createPolicy('other', {})),
            again: await fails(() => trustedTypes.createPolicy('oomscope', {})),
          };
        });
        assert.deepEqual(Object.entries(stopped).filter(([, isStopped]) => !isStopped), []);
      },
      { provokes: true },
    ),
  ));

test('the server says the page’s policy with every file, so that it holds in the worker too', () =>
  served(path.join(DIST, 'site'), async (origin) => {
    const html = readFileSync(path.join(DIST, 'site/index.html'), 'utf8');
    const meta = /http-equiv="Content-Security-Policy" content="([^"]*)"/.exec(html)[1];
    for (const file of ['', 'oom-worker.js', 'oomscope_bg.wasm']) {
      const { headers } = await fetch(`${origin}/${file}`);
      assert.equal(headers.get('content-security-policy'), `${meta}; frame-ancestors 'self'`);
    }
    for (const page of [html, readFileSync(path.join(DIST, 'oomscope.html'), 'utf8').slice(0, 4000)]) {
      assert.doesNotMatch(/content="(default-src[^"]*)"/.exec(page)[1], /unsafe-inline|'unsafe-eval'|\*|https?:/);
    }
  }));

test('with folders left out nothing that is copied or saved names one, and the choice is remembered', () =>
  served(path.join(DIST, 'site'), (origin) =>
    visit(shared.browser, `${origin}/`, async (page) => {
      const names = (text) => /\/home\/user|scripts\/memory|site-packages/.test(text);
      await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
      await choose(page, FIXTURE);
      await opened(page);
      const outputs = async () => [
        await copied(page, page.getByRole('button', { name: 'Copy as Markdown' })),
        await copied(page, page.getByRole('button', { name: 'Copy as text' })),
        await copied(page, page.getByRole('button', { name: 'Copy file and line' }).first()),
        String(await saved(page, page.getByTestId('save-csv'))),
      ];
      await page.getByTestId('tab-allocations').click();
      assert.deepEqual((await outputs()).map(names), [true, true, true, true]);
      await page.getByTestId('without-folders').check();
      assert.deepEqual((await outputs()).map(names), [false, false, false, false]);
      await page.reload();
      await choose(page, path.join(ROOT, 'tests/fixtures/leak_loss_history.pickle.xz'));
      await opened(page);
      assert.equal(await page.getByTestId('without-folders').isChecked(), true);
    }),
  ));

test('the offline page that lies beside the site is saved, not shown', () =>
  served(path.join(DIST, 'site'), async (origin) => {
    const answer = await fetch(`${origin}/oomscope.html`);
    assert.equal(answer.headers.get('content-disposition'), 'attachment');
    const page = await fetch(`${origin}/`);
    assert.equal(page.headers.get('content-disposition'), null);
    assert.match(page.headers.get('content-security-policy'), /frame-ancestors/);
  }));

/** The policy that the element's README asks of its host, with `default-src 'none'` around it. */
function policyOfReadme() {
  const readme = readFileSync(path.join(DIST, 'embed/README.md'), 'utf8');
  return /```text\n(default-src 'none';[^`]*)\n```/.exec(readme)[1].replaceAll('\n', ' ');
}

function embedding(policy) {
  return `<!doctype html>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<title>Memory</title>
<script type="module" src="oomscope/oom-scope.js"></script>
<oom-scope linked></oom-scope>
`;
}
