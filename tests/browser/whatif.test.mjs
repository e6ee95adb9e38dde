/** What the hosted page answers to "what if": other settings and cards, the cache emptied at other times, changed programs. */
import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { choose, DIST, FIXTURE, opened, ROOT, setUp, visit } from './harness.mjs';

const shared = setUp(path.join(DIST, 'site'));
const site = () => `${shared.origin}/`;
const fixture = (name) => path.join(ROOT, `tests/fixtures/${name}.pickle.xz`);

const rows = (page) => page.getByTestId('settings').locator('tbody tr');
const texts = (page) => rows(page).allTextContents();

/** Opens a file and looks at the card. */
async function look(page, file) {
  await choose(page, file);
  await opened(page);
  await page.getByTestId('what-if').scrollIntoViewIfNeeded();
}

/** Every cell of the table is known. */
async function complete(page) {
  await page.locator('[data-test=what-if][data-work=done] tbody tr').nth(5).waitFor();
  await page.waitForFunction(() => {
    const table = document.querySelector('oom-scope').shadowRoot.querySelector('[data-test=settings]');
    return !table.classList.contains('old') && !table.textContent.includes('…');
  });
}

test('settings are compared, and what one reserves is drawn', () =>
  visit(shared.browser, site(), async (page) => {
    await look(page, FIXTURE);
    await complete(page);
    const [recorded, expandable] = await texts(page);
    assert.match(recorded, /default.*recorded.*Runs out/);
    assert.match(expandable, /expandable_segments:True.*Gets past the failure/);
    await rows(page).nth(1).getByRole('button').click();
    await page.getByText('reserved with the other setting').waitFor();
    await rows(page).nth(1).getByRole('button', { name: 'Hide' }).click();
    await page.getByText('reserved with the other setting').waitFor({ state: 'hidden' });
  }));

test('a larger card lets the run pass', () =>
  visit(shared.browser, site(), async (page) => {
    await look(page, FIXTURE);
    await page.getByTestId('card').selectOption({ label: 'H100, 80 GB' });
    await rows(page).first().filter({ hasText: 'Gets past the failure' }).waitFor();
  }));

test('each setting shows the least memory that works, and how far addresses matter', () =>
  visit(shared.browser, site(), async (page) => {
    await look(page, fixture('cat_gpt_adamw'));
    await complete(page);
    for (const row of await rows(page).all()) {
      assert.match(await row.locator('[data-label="Needs at least"]').textContent(), /^[\d.]+ [MG]iB$/);
    }
    await page.getByTestId('checkpointing').check();
    await page.getByTestId('what-if-notes').getByText('8 blocks are checkpointed').waitFor();
    await complete(page);
    assert.match(await page.getByTestId('band').first().textContent(), /iB to .*iB by address/);
  }));

test('the cache is emptied when asked, and each time is counted as a stall', () =>
  visit(shared.browser, site(), async (page) => {
    await look(page, fixture('cat_gpt_adamw'));
    await complete(page);
    assert.ok((await texts(page)).every((text) => !text.includes('by the program')));
    await page.getByTestId('empty-cache').selectOption('every-step');
    await page.getByTestId('what-if-notes').getByText(/between the steps, \d+ times; each time waits for the GPU/).waitFor();
    await complete(page);
    assert.ok((await texts(page)).every((text) => /\+ \d+ by the program/.test(text)));
    await page.getByTestId('empty-cache').selectOption('recorded');
    await complete(page);
    assert.ok((await texts(page)).every((text) => !text.includes('by the program')));
  }));

test('a smaller batch and smaller optimizer states reserve less', () =>
  visit(shared.browser, site(), async (page) => {
    await look(page, fixture('cat_gpt_adamw'));
    await complete(page);
    const peaks = [];
    const peak = async () => peaks.push(Number(await rows(page).first().locator('.bytes').first().getAttribute('title').then((title) => title.replace(/\D/g, ''))));
    await peak();
    const slider = page.getByTestId('batch');
    await slider.press('ArrowLeft');
    await slider.press('ArrowLeft');
    await page.getByTestId('what-if-notes').getByText('0.5 times the batch').waitFor();
    await complete(page);
    await peak();
    await page.getByTestId('optimizer-states').selectOption('none');
    await page.getByTestId('what-if-notes').getByText('not on the GPU').waitFor();
    await complete(page);
    await peak();
    assert.ok(peaks[0] > peaks[1] && peaks[1] > peaks[2], peaks.join(' > '));
  }));

test('a replay is told, can be stopped and goes on where it was', () =>
  visit(
    shared.browser,
    site(),
    async (page) => {
      await look(page, fixture('leak_refcycle_sawtooth'));
      await page.getByTestId('stop').click();
      await page.getByText('Stopped.').waitFor();
      assert.match((await texts(page)).at(-1), /not known/);
      // The page is alive: the worker was never in the way.
      await page.getByTestId('timeline').hover();
      await page.getByTestId('readout').filter({ hasText: /iB/ }).waitFor();
      await page.getByTestId('go-on').click();
      await complete(page);
      assert.ok((await texts(page)).every((text) => !text.includes('not known')));
    },
    // The second step is never answered.
    { prepare: (page) => onSettings(page, 'if (number === 2) event.stopImmediatePropagation();') },
  ));

test('an answer to an older question does not land in the table', () =>
  visit(
    shared.browser,
    site(),
    async (page) => {
      await look(page, FIXTURE);
      await page.getByTestId('stop').waitFor();
      await page.getByTestId('card').selectOption({ label: 'H100, 80 GB' });
      await complete(page);
      // Whatever the worker had to say by now has been said.
      await page.getByTestId('timeline').hover();
      await page.getByTestId('readout').filter({ hasText: /iB/ }).waitFor();
      assert.match((await texts(page))[0], /Gets past the failure/);
    },
    // The first step is answered after the second.
    {
      prepare: (page) =>
        onSettings(
          page,
          `if (number === 1) { late = event.data; event.stopImmediatePropagation(); }
           if (number === 2) { setTimeout(() => dispatchEvent(new MessageEvent('message', { data: late }))); }`,
        ),
    },
  ));

test('on a phone the table fits the page', () =>
  visit(shared.browser, site(), async (page) => {
    await page.setViewportSize({ width: 390, height: 844 });
    await look(page, FIXTURE);
    await complete(page);
    const widths = await page.evaluate(() => {
      const card = document.querySelector('oom-scope').shadowRoot.querySelector('[data-test=what-if]');
      // The column's heads are for those who hear the table.
      return [...card.querySelectorAll(':not(thead, thead *)')].map((element) => element.getBoundingClientRect().right);
    });
    assert.ok(Math.max(...widths) <= 390, String(Math.max(...widths)));
  }));

/** Runs `script` before the worker sees a step of the table; `number` counts them from 1. */
async function onSettings(page, script) {
  await page.route('**/oom-worker.js*', async (route) => {
    const response = await route.fetch();
    const prelude = `let late; let number = 0;
      addEventListener('message', (event) => { if (event.data.kind === 'settings') { number += 1; ${script} } });\n`;
    await route.fulfill({ response, body: prelude + (await response.text()) });
  });
}
