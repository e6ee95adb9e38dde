/** The hosted page on a phone: nothing scrolls sideways, is too small for a finger, or jumps. */
import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { choose, compared, DIST, FIXTURE, opened, ROOT, setUp } from './harness.mjs';

const shared = setUp(path.join(DIST, 'site'));
const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };
const FINGER_PX = 40;
const MESSAGE = 'RuntimeError: MPS backend out of memory (MPS allocated: 8.00 GB, other allocations: 1.00 GB, max allowed: 9.07 GB). Tried to allocate 512.00 MB on private pool.';

async function onPhone(body, prepare = async () => {}) {
  const context = await shared.browser.newContext(PHONE);
  try {
    const page = await context.newPage();
    page.setDefaultTimeout(60_000);
    await prepare(page);
    await page.goto(`${shared.origin}/`);
    await page.getByTestId('drop').waitFor();
    await body(page);
  } finally {
    await context.close();
  }
}

/** What can be pressed and is lower than a finger is wide; what is around a link in a text counts. */
function tooSmall(page) {
  return page.evaluate((least) => {
    const { shadowRoot } = document.querySelector('oom-scope');
    const height = (each) => {
      const around = getComputedStyle(each, '::after');
      const more = around.position === 'absolute' && around.content !== 'none' ? parseFloat(around.height) : 0;
      return Math.max((each.closest('label') ?? each).getBoundingClientRect().height, each.getBoundingClientRect().height, more);
    };
    return [...shadowRoot.querySelectorAll('button, select, summary, input, textarea')]
      .filter((each) => each.checkVisibility() && !each.closest('.unseen') && each.type !== 'file' && height(each) < least - 0.5)
      .map((each) => `${each.className} “${each.textContent.slice(0, 30)}” ${Math.round(height(each))}`);
  }, FINGER_PX);
}

async function fits(page, what) {
  const { width, room } = await page.locator('oom-scope').evaluate((each) => ({ width: each.scrollWidth, room: each.clientWidth }));
  assert.equal(width, room, `${what} scrolls sideways`);
  assert.deepEqual(await tooSmall(page), [], what);
}

test('the start screen fits', () => onPhone((page) => fits(page, 'the start screen')));

for (const sample of ['leak', 'fragmentation', 'cannot-tell']) {
  test(`the report of the sample “${sample}” fits, with each of its views`, () =>
    onPhone(async (page) => {
      await page.getByTestId(`sample-${sample}`).click();
      await page.getByTestId('headline').waitFor();
      await page.getByTestId('explore').scrollIntoViewIfNeeded();
      if (sample !== 'cannot-tell') {
        await page.getByTestId('what-if').scrollIntoViewIfNeeded();
        await page.getByTestId('settings').locator('tbody button').first().waitFor();
      }
      for (const tab of ['allocations', 'steps', 'stacks']) {
        await page.getByTestId(`tab-${tab}`).click();
        await fits(page, tab);
      }
    }));
}

test('an error’s text fits, and leads back', () =>
  onPhone(async (page) => {
    await page.getByTestId('error-text').fill(MESSAGE);
    await page.getByTestId('explain').click();
    await page.getByTestId('message').waitFor();
    await fits(page, 'the message');
    await page.getByRole('button', { name: 'Start again' }).click();
    await page.getByTestId('drop').waitFor();
  }));

test('a comparison fits', () =>
  onPhone(async (page) => {
    await choose(page, [FIXTURE, path.join(ROOT, 'tests/fixtures/fragmentation_varlen_expandable.pickle.xz')]);
    await compared(page);
    await fits(page, 'the comparison');
  }));

test('nothing jumps while a file opens', () =>
  onPhone(
    async (page) => {
      // By script, for what follows an input is not counted.
      await page.getByTestId('sample-leak').evaluate((sample) => sample.click());
      await opened(page);
      await page.waitForTimeout(500);
      const moved = await page.evaluate(() => globalThis.moved);
      assert.ok(moved < 0.02, `layout shift of ${moved}`);
    },
    (page) =>
      page.addInitScript(() => {
        globalThis.moved = 0;
        new PerformanceObserver((list) => list.getEntries().forEach(({ value }) => (globalThis.moved += value))).observe({ type: 'layout-shift', buffered: true });
      }),
  ));
