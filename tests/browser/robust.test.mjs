/** What goes wrong in the browser is told, and the page stays usable. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { hostileNames, temporaryFolder, textFile, unpackedSample } from './files.mjs';
import { changeFirstWorker, choose, DIST, drop, FIXTURE, opened, setUp, visit } from './harness.mjs';

const folder = temporaryFolder();
const shared = setUp(path.join(DIST, 'site'));
const site = (query = '') => `${shared.origin}/${query}`;

/** Need some hundred kilobytes and some ten megabytes of memory. */
const SMALL = hostileNames(folder);
const LARGE = unpackedSample(folder);

/** The small file is open, and not the other. */
async function isSmall(page) {
  await page.getByTestId('lines').filter({ hasText: 'onerror' }).waitFor();
  return opened(page);
}

/** A worker whose module traps in `exports`, as wasm itself does it. */
const trapsIn = (...names) => `
  const { Instance, Module } = WebAssembly;
  // (module (memory 0) (func (export "trap") (drop (i32.load (i32.const 0)))))
  const bytes = [0, 97, 115, 109, 1, 0, 0, 0, 1, 4, 1, 96, 0, 0, 3, 2, 1, 0, 5, 3, 1, 0, 0, 7, 8, 1, 4, 116, 114, 97, 112, 0, 0, 10, 10, 1, 8, 0, 65, 0, 40, 2, 0, 26, 11];
  const { trap } = new Instance(new Module(new Uint8Array(bytes))).exports;
  WebAssembly.Instance = function (module, imports) {
    const { exports } = new Instance(module, imports);
    return { exports: { ...exports, ${names.map((name) => `${name}: trap`).join(', ')} } };
  };
  onRequest = () => {};`;

test('a trap while a file is read is told with the way round, and the next file opens', () =>
  visit(
    shared.browser,
    site(),
    async (page) => {
      await choose(page, FIXTURE);
      await page.getByTestId('error').filter({ hasText: 'other files still open' }).waitFor();
      await choose(page, FIXTURE);
      await opened(page);
      await page.getByTestId('error').waitFor({ state: 'hidden' });
    },
    { provokes: true, prepare: (page) => changeFirstWorker(page, trapsIn('session_finish')) },
  ));

test('after a trap while a report is shown the report stays, and the next file opens', () =>
  visit(
    shared.browser,
    site(),
    async (page, _, complaints) => {
      await choose(page, FIXTURE);
      const headline = await page.getByTestId('headline').textContent();
      await page.getByTestId('error').filter({ hasText: 'other files still open' }).waitFor();
      // What is asked of the worker that took its place is answered by nothing, and breaks nothing.
      await page.mouse.wheel(0, 4000);
      await page.getByTestId('timeline').hover();
      assert.equal(await page.getByTestId('headline').textContent(), headline);
      assert.deepEqual(complaints.filter((text) => !/out of bounds/.test(text)), []);
      await drop(page, SMALL, page.locator('oom-scope'));
      await isSmall(page);
      await page.getByTestId('error').waitFor({ state: 'hidden' });
    },
    { provokes: true, prepare: (page) => changeFirstWorker(page, trapsIn('session_timeline')) },
  ));

/** The module with a bound on its memory: `more` pages of 64 KiB beyond those that it begins with. */
function withLeastMemory(wasm, more) {
  const number = (at) => {
    let [value, shift, byte] = [0, 0, 0];
    do {
      byte = wasm[at++];
      value += (byte & 127) * 2 ** shift;
      shift += 7;
    } while (byte >= 128);
    return [value, at];
  };
  const leb = (value) => (value < 128 ? [value] : [(value & 127) | 128, ...leb(Math.floor(value / 128))]);
  for (let at = 8; at < wasm.length; ) {
    const [length, begin] = number(at + 1);
    if (wasm[at] === 5) {
      assert.deepEqual([wasm[begin], wasm[begin + 1]], [1, 0], 'one memory without a bound');
      const [pages] = number(begin + 2);
      const section = [1, 1, ...leb(pages), ...leb(pages + more)];
      return Buffer.concat([wasm.subarray(0, at), Buffer.from([5, ...leb(section.length), ...section]), wasm.subarray(begin + length)]);
    }
    at = begin + length;
  }
  throw new Error('the module has no memory');
}

test('a file that needs more memory than there is is told with the way round, and the next file opens', () =>
  visit(
    shared.browser,
    site(),
    async (page) => {
      await choose(page, LARGE);
      const error = page.getByTestId('error').filter({ hasText: 'needs more memory' });
      await error.waitFor();
      assert.match(await error.textContent(), /oomscope report/);
      await choose(page, SMALL);
      await isSmall(page);
      await error.waitFor({ state: 'hidden' });
    },
    {
      provokes: true,
      prepare: (page) =>
        page.route('**/oomscope_bg.wasm*', async (route) => {
          const response = await route.fetch();
          await route.fulfill({ response, body: withLeastMemory(await response.body(), 32) });
        }),
    },
  ));

test('of two files dropped in quick succession the second is opened', () =>
  visit(shared.browser, site(), async (page) => {
    // Within one task: the first has not even begun.
    await dropTogether(page, [LARGE], [SMALL]);
    await isSmall(page);
    await dropTogether(page, [SMALL], [LARGE]);
    await page.getByTestId('lines').filter({ hasNotText: 'onerror' }).waitFor();
    await dropTogether(page, [textFile(folder)], [SMALL]);
    await isSmall(page);
    assert.equal(await page.getByTestId('error').isVisible(), false);
    // Two files are a comparison; one that comes meanwhile takes its place.
    await dropTogether(page, [LARGE, FIXTURE], [SMALL]);
    await isSmall(page);
  }));

test('a file dropped while another is read takes its place', () =>
  visit(
    shared.browser,
    site(),
    async (page) => {
      await drop(page, LARGE);
      await page.getByTestId('progress').waitFor();
      await drop(page, SMALL, page.locator('oom-scope'));
      await isSmall(page);
      assert.equal(await page.getByTestId('progress').isVisible(), false);
    },
    { prepare: (page) => changeFirstWorker(page, 'onRequest = () => { for (;;); };') },
  ));

test('a file that is no snapshot says nothing once another is on its way', () =>
  visit(
    shared.browser,
    site(),
    async (page) => {
      await choose(page, textFile(folder));
      await page.waitForFunction(() => globalThis.reading !== undefined);
      await choose(page, SMALL);
      await isSmall(page);
      await page.evaluate(() => globalThis.reading());
      await page.evaluate(() => new Promise((done) => setTimeout(done)));
      assert.equal(await page.getByTestId('error').isVisible(), false);
      await isSmall(page);
    },
    {
      // The text of the first file is long in coming.
      prepare: (page) =>
        page.addInitScript(() => {
          const { text } = Blob.prototype;
          Blob.prototype.text = function () {
            return new Promise((resolve) => {
              globalThis.reading = () => resolve(text.call(this));
            });
          };
        }),
    },
  ));

/** Where a worker stands still for ever: before its module, at the file, in its midst, with the answer. */
const MOMENTS = [
  "addEventListener('message', (event) => { if (event.data.module) for (;;); }); onRequest = () => {};",
  'onRequest = () => { for (;;); };',
  'const post = postMessage; self.postMessage = (...message) => { post(...message); if (message[0].progress) for (;;); }; onRequest = () => {};',
  'const post = postMessage; self.postMessage = (...message) => { if (message[0].ok) for (;;); post(...message); }; onRequest = () => {};',
];

test('cancel ends a load at any moment, and the next file opens', async () => {
  for (const script of MOMENTS) {
    await visit(shared.browser, site(), (page) => cancelled(page, () => choose(page, LARGE)), { prepare: (page) => changeFirstWorker(page, script) });
  }
  // Before the module has come, and while the file comes from the server.
  for (const [pattern, query] of [['**/oomscope_bg.wasm*', ''], ['**/samples/leak.pickle.xz', '?src=samples/leak.pickle.xz']]) {
    let release;
    const held = new Promise((resolve) => {
      release = resolve;
    });
    await visit(
      shared.browser,
      site(query),
      (page) => cancelled(page, () => query === '' && choose(page, LARGE), release),
      { provokes: true, prepare: (page) => page.route(pattern, (route) => held.then(() => route.continue()).catch(() => {})) },
    );
  }
  // While several are read.
  await visit(
    shared.browser,
    site(),
    (page) => cancelled(page, () => drop(page, [LARGE, FIXTURE])),
    { prepare: (page) => page.route('**/oom-worker.js*', slowToCompare) },
  );
});

async function cancelled(page, begin, release = () => {}) {
  await begin();
  await page.getByTestId('cancel').click();
  await page.getByTestId('drop').waitFor();
  release();
  await choose(page, SMALL);
  await isSmall(page);
  assert.equal(await page.getByTestId('error').isVisible(), false);
}

/** A worker that never ends reading one of several files. */
async function slowToCompare(route) {
  const response = await route.fetch();
  const script = "addEventListener('message', (event) => { if (event.data.kind === 'runOf') for (;;); });\n";
  await route.fulfill({ response, body: script + (await response.text()) });
}

test('a file opens while the tab is hidden, and is drawn once somebody looks', () =>
  visit(
    shared.browser,
    site(),
    async (page) => {
      await choose(page, LARGE);
      await page.getByTestId('headline').waitFor();
      assert.equal(await page.locator('[data-test=timeline][data-end]').count(), 0, 'a hidden tab draws nothing');
      await page.evaluate(() => globalThis.show());
      await opened(page);
    },
    { prepare: (page) => page.addInitScript(hide) },
  ));

/** As a tab in the background: no frames come until `show` is called. */
function hide() {
  const waiting = [];
  const { requestAnimationFrame } = globalThis;
  Object.defineProperty(document, 'hidden', { get: () => globalThis.requestAnimationFrame !== requestAnimationFrame, configurable: true });
  globalThis.requestAnimationFrame = (call) => waiting.push(call);
  globalThis.show = () => {
    globalThis.requestAnimationFrame = requestAnimationFrame;
    document.dispatchEvent(new Event('visibilitychange'));
    waiting.forEach((call) => requestAnimationFrame(call));
  };
}

test('canvases whose picture the browser lost are drawn again', () =>
  visit(
    shared.browser,
    site('?src=samples/leak.pickle.xz'),
    async (page) => {
      await opened(page);
      await isDrawnAgain(page, page.locator('canvas[data-test=timeline][data-end]'));
      await isDrawnAgain(page, page.getByTestId('overview'));
      await page.getByTestId('memory-map').scrollIntoViewIfNeeded();
      await isDrawnAgain(page, page.locator('canvas[data-test=map][data-entry]'));
      await page.getByTestId('explore').scrollIntoViewIfNeeded();
      await isDrawnAgain(page, page.locator('canvas[data-test=icicle][data-cells]'));
      await page.getByTestId('tab-steps').click();
      await page.locator('#panel-steps > *').first().scrollIntoViewIfNeeded();
      await isDrawnAgain(page, page.locator('canvas[data-test=steps-chart][data-steps]'));
      await drop(page, [FIXTURE, LARGE], page.locator('oom-scope'));
      await isDrawnAgain(page, page.locator('canvas[data-test=course][data-drawn]'));
    },
    // Reading pixels back is complained of as slow.
    { provokes: true },
  ));

/** The canvas as the specification has it lose its context and get it back: empty. */
async function isDrawnAgain(page, canvas) {
  await canvas.waitFor();
  const painted = (element) => {
    const { data } = element.getContext('2d').getImageData(0, 0, element.width, element.height);
    return data.reduce((sum, value) => sum + value, 0);
  };
  const before = await canvas.evaluate(painted);
  assert.ok(before > 0, 'it was drawn');
  const empty = await canvas.evaluate((element) => {
    element.dispatchEvent(new Event('contextlost', { cancelable: true }));
    element.width = element.width;
    const { data } = element.getContext('2d').getImageData(0, 0, element.width, element.height);
    element.dispatchEvent(new Event('contextrestored'));
    return data.every((value) => value === 0);
  });
  assert.ok(empty, 'it was emptied');
  const handle = await canvas.elementHandle();
  await page.waitForFunction(
    ([element, sum]) => element.getContext('2d').getImageData(0, 0, element.width, element.height).data.reduce((all, value) => all + value, 0) === sum,
    [handle, before],
  );
}

/** Drops several times within one task. */
async function dropTogether(page, ...drops) {
  const given = drops.map((files) => files.map((file) => [readFileSync(file, 'base64'), path.basename(file)]));
  await page.locator('oom-scope').evaluate((element, all) => {
    for (const files of all) {
      const dataTransfer = new DataTransfer();
      for (const [base64, name] of files) {
        dataTransfer.items.add(new File([Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0))], name));
      }
      element.dispatchEvent(new DragEvent('drop', { dataTransfer, bubbles: true, composed: true, cancelable: true }));
    }
  }, given);
}
