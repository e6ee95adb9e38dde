/**
 * One HTML file of the page with a snapshot inside: saved from the hosted page, from the offline
 * page and from the terminal, each opens without a network, with the same verdict in the same view.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { HOSTILE_NAME, hostileNames, temporaryFolder, terminal } from './files.mjs';
import { choose, DIST, FIXTURE, opened, setUp, shownRange, visit } from './harness.mjs';

const folder = temporaryFolder();
const shared = setUp(path.join(DIST, 'site'));
const offlinePage = path.join(DIST, 'oomscope.html');
const urlOf = (file) => pathToFileURL(file).href;

/** What the button saves. */
async function saved(page, name) {
  const [download] = await Promise.all([page.waitForEvent('download'), page.getByTestId('save-page').click()]);
  await page.getByTestId('save-page').filter({ hasText: 'Saved' }).waitFor();
  const file = path.join(folder, name);
  await download.saveAs(file);
  return { file, suggested: download.suggestedFilename() };
}

/** Opens a saved page without a network and without a click; nothing but the page is requested. */
function reopened(file, body) {
  const url = urlOf(file);
  return visit(
    shared.browser,
    url,
    async (page, requests) => {
      await opened(page);
      await body(page);
      assert.deepEqual(requests.filter((request) => !/^(blob|data):/.test(request)), [url]);
    },
    { offline: true },
  );
}

/** Zooms, shows lines instead of categories, and the steps of the explorer. */
async function changeView(page) {
  const timeline = page.getByTestId('timeline');
  await timeline.focus();
  const { end } = await shownRange(page);
  await page.keyboard.press('w');
  await page.locator(`[data-test=timeline]:not([data-end="${end}"])`).waitFor();
  await page.getByRole('tab', { name: 'Allocations' }).click();
}

async function viewOf(page) {
  const tab = await page.locator('[role=tab][aria-selected=true]').textContent();
  return { headline: await page.getByTestId('headline').textContent(), range: await shownRange(page), tab };
}

/** The timeline shows the range that was saved, once it is drawn. */
async function showsView(page, view) {
  await page.locator(`[data-test=timeline][data-begin="${view.range.begin}"][data-end="${view.range.end}"]`).waitFor();
  assert.deepEqual(await viewOf(page), view);
}

test('a page saved from the hosted page opens offline in the same view, and saves itself again', async () => {
  let view;
  let first;
  await visit(shared.browser, `${shared.origin}/`, async (page) => {
    await choose(page, FIXTURE);
    await opened(page);
    await changeView(page);
    view = await viewOf(page);
    first = await saved(page, 'first.html');
  });
  assert.equal(first.suggested, 'fragmentation_varlen_default.html');
  let second;
  await reopened(first.file, async (page) => {
    await showsView(page, view);
    second = await saved(page, 'second.html');
  });
  assert.ok(readFileSync(first.file).equals(readFileSync(second.file)), 'a page saved from a saved page is the same page');
});

test('a page saved from the offline page is the one that the terminal writes', async () => {
  let fromPage;
  await visit(
    shared.browser,
    urlOf(offlinePage),
    async (page) => {
      await choose(page, FIXTURE);
      await opened(page);
      fromPage = (await saved(page, 'offline.html')).file;
    },
    { offline: true },
  );
  const fromTerminal = path.join(folder, 'terminal.html');
  assert.equal(terminal('html', FIXTURE, '-o', fromTerminal, '--page', offlinePage), '');
  // The fixture is packed, so that both hold its own bytes.
  assert.ok(readFileSync(fromPage).equals(readFileSync(fromTerminal)));
  await reopened(fromTerminal, async (page) => {
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.getByRole('button', { name: 'Copy as Markdown' }).click();
    await page.getByText('Copied').first().waitFor();
    const copied = await page.evaluate(() => navigator.clipboard.readText());
    assert.ok(copied.startsWith(`### ${await page.getByTestId('headline').textContent()}`), copied.slice(0, 100));
  });
});

test('a plain pickle is packed by the page and by the terminal, whatever its name', async () => {
  const plain = hostileNames(folder);
  const fromTerminal = path.join(folder, 'plain.html');
  terminal('html', plain, '-o', fromTerminal, '--page', offlinePage);
  let headline;
  await reopened(fromTerminal, async (page) => {
    headline = await page.getByTestId('headline').textContent();
    await page.getByTestId('lines').filter({ hasText: HOSTILE_NAME }).waitFor();
  });
  let fromPage;
  await visit(shared.browser, `${shared.origin}/`, async (page) => {
    await choose(page, plain);
    await opened(page);
    fromPage = (await saved(page, 'plain-page.html')).file;
  });
  await reopened(fromPage, async (page) => {
    assert.equal(await page.getByTestId('headline').textContent(), headline);
    assert.notEqual(await page.title(), 'owned');
  });
});

test('a saved page is a snapshot to the page and to the terminal', async () => {
  const file = path.join(folder, 'again.html');
  terminal('html', FIXTURE, '-o', file, '--page', offlinePage);
  assert.equal(
    JSON.parse(terminal('report', file, '--json')).diagnosis.headline,
    JSON.parse(terminal('report', FIXTURE, '--json')).diagnosis.headline,
  );
  await visit(shared.browser, `${shared.origin}/`, async (page) => {
    await choose(page, file);
    await opened(page);
  });
});

test('a name of any letters stays a name', () => {
  const hostile = { name: 'x" data-name="y"><script>document.title=`owned`<!--.pickle', mimeType: '', buffer: readFileSync(hostileNames(folder)) };
  let file;
  return visit(shared.browser, `${shared.origin}/`, async (page) => {
    await choose(page, hostile);
    await opened(page);
    ({ file } = await saved(page, 'named.html'));
  }).then(() =>
    reopened(file, async (page) => {
      assert.equal(await page.locator('.file-name').textContent(), hostile.name);
      assert.notEqual(await page.title(), 'owned');
    }),
  );
});

test('with folders left out, a page is saved whose snapshot names none and tells the same', async () => {
  let headline;
  let file;
  await visit(shared.browser, `${shared.origin}/`, async (page) => {
    await choose(page, FIXTURE);
    await opened(page);
    headline = await page.getByTestId('headline').textContent();
    await page.getByTestId('without-folders').check();
    ({ file } = await saved(page, 'without-folders.html'));
  });
  const [, inside] = /id="oomscope-snapshot"[^>]*>([^<]+)</.exec(readFileSync(file, 'utf8'));
  const pickle = gunzipSync(Buffer.from(inside, 'base64')).toString('latin1');
  assert.match(pickle, /scenarios\.py/);
  assert.doesNotMatch(pickle, /\/(home|root|usr|opt|tmp)\//);
  await reopened(file, async (page) => {
    assert.equal(await page.getByTestId('headline').textContent(), headline);
  });
});

test('a site without the offline page says so', () =>
  visit(
    shared.browser,
    `${shared.origin}/`,
    async (page) => {
      await page.route('**/oomscope.html*', (route) => route.fulfill({ status: 404 }));
      await choose(page, FIXTURE);
      await opened(page);
      await page.getByTestId('save-page').click();
      await page.getByTestId('error').filter({ hasText: 'oomscope.html' }).waitFor();
    },
    { provokes: true },
  ));
