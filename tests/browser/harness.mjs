/**
 * What the browser tests share: one browser, a server for a folder of pages, and a visit that
 * keeps every request and complaint of its page.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { after, before } from 'node:test';
import { fileURLToPath } from 'node:url';
import { chromium, selectors } from 'playwright-core';
import { serve } from '../../www/serve.mjs';
import { findChromium } from './chromium.mjs';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));
export const DIST = path.join(ROOT, 'dist');
export const FIXTURE = path.join(ROOT, 'tests/fixtures/fragmentation_varlen_default.pickle.xz');

const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  // Whatever a page might ask of another host finds nobody there.
  '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1',
];

selectors.setTestIdAttribute('data-test');

export function launch() {
  return chromium.launch({ executablePath: findChromium(), args: FLAGS });
}

/** A browser for the tests of the file that calls this, and a server for `directory` if given. */
export function setUp(directory = null) {
  const shared = { browser: null, origin: null };
  let server = null;
  before(async () => {
    shared.browser = await launch();
    if (directory !== null) {
      server = await serve(directory);
      shared.origin = `http://127.0.0.1:${server.address().port}`;
    }
  });
  after(async () => {
    await shared.browser?.close();
    server?.closeAllConnections();
    server?.close();
  });
  return shared;
}

/**
 * Opens `url` in a profile of its own, gives the page, its requests and its complaints so far to `body`, then
 * checks that every request was for `url`'s own site and that the console stayed silent, unless
 * the test provokes what a browser complains of (`provokes`).
 */
export async function visit(
  browser,
  url,
  body,
  { offline = false, provokes = false, prepare = async () => {} } = {},
) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  const requests = [];
  const complaints = [];
  context.on('request', (request) => requests.push(request.url()));
  context.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') {
      complaints.push(message.text());
    }
  });
  context.on('weberror', (error) => complaints.push(String(error.error())));
  try {
    await context.setOffline(offline);
    const page = await context.newPage();
    page.setDefaultTimeout(60_000);
    await prepare(page);
    await page.goto(url);
    await body(page, requests, complaints);
    assert.deepEqual(requests.filter((request) => !isOwn(request, url)), [], 'requests to others');
    if (!provokes) {
      assert.deepEqual(complaints, [], 'complaints in the console');
    }
  } finally {
    await context.close();
  }
}

/** A page from a file owns that one file; a served page owns its site. Neither leaves the page with blob: or data:. */
function isOwn(request, page) {
  const { origin, protocol } = new URL(page);
  return (
    /^(blob|data):/.test(request) || (protocol === 'file:' ? request === page : new URL(request).origin === origin)
  );
}

/** Drops a file, or several, on the element as a person would, from outside the browser. */
export async function drop(page, files, target = page.getByTestId('drop')) {
  const dataTransfer = await page.evaluateHandle(
    (dropped) => {
      const transfer = new DataTransfer();
      for (const [base64, name] of dropped) {
        const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
        transfer.items.add(new File([bytes], name));
      }
      return transfer;
    },
    [files].flat().map((file) => [readFileSync(file, 'base64'), path.basename(file)]),
  );
  for (const type of ['dragenter', 'dragover', 'drop']) {
    await target.dispatchEvent(type, { dataTransfer });
  }
}

export function choose(page, file) {
  return page.getByTestId('file-input').setInputFiles(file);
}

/** The snapshot is open: its verdict is there in words and its timeline is drawn. */
export async function opened(scope) {
  await scope.getByTestId('headline').waitFor();
  await scope.locator('[data-test=timeline][data-end]').waitFor();
  return scope.getByTestId('headline').textContent();
}

/** The comparison is there: its verdict. */
export async function compared(page) {
  await page.getByTestId('compare-headline').waitFor();
  return page.getByTestId('compare-headline').textContent();
}

/** The entries that the timeline shows. */
export async function shownRange(scope) {
  const timeline = scope.getByTestId('timeline');
  return {
    begin: Number(await timeline.getAttribute('data-begin')),
    end: Number(await timeline.getAttribute('data-end')),
  };
}

/** Runs `script` before the first worker's own; it may set `onRequest`, which sees each request first. */
export async function changeFirstWorker(page, script) {
  let first = true;
  await page.route('**/oom-worker.js*', async (route) => {
    if (!first) {
      await route.continue();
      return;
    }
    first = false;
    const response = await route.fetch();
    const prelude = `let onRequest;
      addEventListener('message', (event) => { if (event.data.kind === 'open') onRequest(event); });
      ${script}\n`;
    await route.fulfill({ response, body: prelude + (await response.text()) });
  });
}
