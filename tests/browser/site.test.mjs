/** The hosted page, from dist/site. */
import assert from 'node:assert/strict';
import { cpSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { cutPickle, HOSTILE_NAME, hostileNames, temporaryFolder, textFile } from './files.mjs';
import { changeFirstWorker, choose, DIST, drop, FIXTURE, opened, setUp, shownRange, visit } from './harness.mjs';

const folder = temporaryFolder();
cpSync(path.join(DIST, 'site'), path.join(folder, 'some/path'), { recursive: true });
const shared = setUp(folder);
const site = (query = '') => `${shared.origin}/some/path/${query}`;

/** Each sample with what its verdict says. */
const SAMPLES = {
  resident: /weights, gradients and optimizer states fill/,
  activations: /activations need/,
  fragmentation: /holes too small/,
  leak: /kept by references/,
  'kv-cache': /KV cache fills/,
  'cannot-tell': /cannot tell/,
};

for (const [sample, verdict] of Object.entries(SAMPLES)) {
  test(`the sample “${sample}” opens to its verdict`, () =>
    visit(shared.browser, site(), async (page) => {
      await page.getByTestId(`sample-${sample}`).click();
      await page.getByTestId('headline').waitFor();
      assert.match(await page.getByTestId('headline').textContent(), verdict);
    }));
}

test('a file opens by the file input', () =>
  visit(shared.browser, site(), async (page) => {
    await choose(page, FIXTURE);
    await opened(page);
  }));

test('a file opens by drag and drop', () =>
  visit(shared.browser, site(), async (page) => {
    await drop(page, FIXTURE);
    await opened(page);
  }));

test('a link with ?src= opens a file of the same site', () =>
  visit(shared.browser, site('?src=samples/leak.pickle.xz'), async (page) => {
    await opened(page);
  }));

test('a link with ?src= to another site is refused in words, and nothing is asked of it', () =>
  visit(shared.browser, site('?src=https://example.com/a.pickle'), async (page) => {
    await page.getByRole('alert').filter({ hasText: 'example.com' }).waitFor();
    await choose(page, FIXTURE);
    await opened(page);
  }));

test('a link with ?src= to a missing file shows an error, and the page stays usable', () =>
  visit(
    shared.browser,
    site('?src=missing.pickle'),
    async (page) => {
      await page.getByTestId('error').filter({ hasText: 'missing.pickle' }).waitFor();
      await choose(page, FIXTURE);
      await opened(page);
    },
    { provokes: true },
  ));

test('a pointer over the timeline reads an entry out', () =>
  visit(shared.browser, site('?src=samples/leak.pickle.xz'), async (page) => {
    await opened(page);
    await page.getByTestId('timeline').hover();
    await page.getByTestId('readout').filter({ hasText: /iB/ }).waitFor();
  }));

test('the wheel zooms at the pointer', () =>
  visit(shared.browser, site('?src=samples/leak.pickle.xz'), async (page) => {
    await opened(page);
    const whole = await shownRange(page);
    await page.getByTestId('timeline').hover();
    await page.mouse.wheel(0, -400);
    await page.locator(`[data-test=timeline]:not([data-end="${whole.end}"])`).waitFor();
    const zoomed = await shownRange(page);
    assert.ok(zoomed.begin > whole.begin && zoomed.end < whole.end, JSON.stringify({ whole, zoomed }));
  }));

test('the keyboard zooms, and shows everything again', () =>
  visit(shared.browser, site('?src=samples/leak.pickle.xz'), async (page) => {
    await opened(page);
    const whole = await shownRange(page);
    const timeline = page.getByTestId('timeline');
    await timeline.press('+');
    await page.locator(`[data-test=timeline]:not([data-end="${whole.end}"])`).waitFor();
    await timeline.press('0');
    await page.locator(`[data-test=timeline][data-begin="0"][data-end="${whole.end}"]`).waitFor();
  }));

test('the report is copied as text', () =>
  visit(shared.browser, site('?src=samples/leak.pickle.xz'), async (page) => {
    const headline = await opened(page);
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.getByRole('button', { name: 'Copy as text' }).click();
    await page.waitForFunction(async (text) => (await navigator.clipboard.readText()).includes(text), headline);
  }));

test('a second file takes the place of the first', () =>
  visit(shared.browser, site('?src=samples/leak.pickle.xz'), async (page) => {
    await opened(page);
    await drop(page, hostileNames(folder), page.locator('oom-scope'));
    await page.getByTestId('lines').filter({ hasText: 'onerror' }).waitFor();
    await opened(page);
  }));

test('the name at the top leads back to the start screen, and the address forgets the file', () =>
  visit(shared.browser, site(), async (page) => {
    await choose(page, FIXTURE);
    await opened(page);
    await page.getByTestId('show-heap').click();
    await page.waitForFunction(() => location.hash !== '');
    await page.getByTestId('brand').click();
    await page.getByTestId('drop').waitFor();
    assert.equal(await page.evaluate(() => location.hash), '');
    await page.getByTestId('sample-leak').click();
    await opened(page);
  }));

test('a link to a view says which file to open, and one to a sample opens it', async () => {
  await visit(shared.browser, site('#file=mine.pickle&picture=heap'), async (page) => {
    await page.getByTestId('linked').filter({ hasText: 'mine.pickle' }).waitFor();
  });
  await visit(shared.browser, site('#file=leak.pickle.xz&picture=heap'), async (page) => {
    await opened(page);
    assert.equal(await page.getByTestId('show-heap').getAttribute('aria-pressed'), 'true');
  });
});

test('cancel ends a worker that is busy, and the next file opens', () =>
  visit(
    shared.browser,
    site(),
    async (page) => {
      await choose(page, FIXTURE);
      await page.getByTestId('progress').waitFor();
      await page.getByTestId('cancel').click();
      await page.getByTestId('progress').waitFor({ state: 'hidden' });
      await page.getByTestId('drop').waitFor();
      await choose(page, FIXTURE);
      await opened(page);
    },
    // The first worker never returns from its first request, as one does for minutes on a huge file.
    { prepare: (page) => changeFirstWorker(page, 'onRequest = () => { for (;;); };') },
  ));

test('a crash of the worker is told, and the next file opens', () =>
  visit(
    shared.browser,
    site(),
    async (page) => {
      await choose(page, FIXTURE);
      await page.getByTestId('error').filter({ hasText: 'oomscope report' }).waitFor();
      await choose(page, FIXTURE);
      await opened(page);
    },
    {
      provokes: true,
      prepare: (page) =>
        changeFirstWorker(
          page,
          `onRequest = (event) => {
            event.stopImmediatePropagation();
            setTimeout(() => { throw new WebAssembly.RuntimeError('unreachable'); });
          };`,
        ),
    },
  ));

for (const [what, make] of [
  ['a text file', textFile],
  ['a pickle that was cut short', cutPickle],
]) {
  test(`${what} shows an error, and the page stays usable`, () =>
    visit(shared.browser, site(), async (page) => {
      await choose(page, make(folder));
      const error = page.getByTestId('error');
      await error.waitFor();
      assert.match(await error.textContent(), /\S/);
      await choose(page, FIXTURE);
      await opened(page);
      await error.waitFor({ state: 'hidden' });
    }));
}

test('names of frames and annotations are shown as text', () =>
  visit(shared.browser, site(), async (page) => {
    await choose(page, hostileNames(folder));
    await opened(page);
    await page.getByTestId('lines').filter({ hasText: HOSTILE_NAME }).waitFor();
    await page.getByTestId('timeline').hover();
    await page.getByTestId('readout').filter({ hasText: HOSTILE_NAME }).waitFor();
    assert.equal(await page.locator('img[src=x]').count(), 0);
    assert.notEqual(await page.title(), 'owned');
  }));
