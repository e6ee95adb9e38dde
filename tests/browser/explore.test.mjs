/** The explorer on the hosted page: stacks, allocations and steps of what is selected. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { HOSTILE_NAME, hostileNames, temporaryFolder } from './files.mjs';
import { choose, DIST, FIXTURE, ROOT, setUp, shownRange, visit } from './harness.mjs';

const folder = temporaryFolder();
const shared = setUp(path.join(DIST, 'site'));
const site = () => `${shared.origin}/`;
const fixture = (name) => path.join(ROOT, `tests/fixtures/${name}.pickle.xz`);

/** Opens a file and shows a tab of the explorer. */
async function explore(page, file, tab) {
  await choose(page, file);
  await page.getByTestId('headline').waitFor();
  await page.getByTestId('explore').scrollIntoViewIfNeeded();
  await page.getByTestId(`tab-${tab}`).click();
  // Cards above may grow while their own pictures come, and push the panel out of sight.
  await page.locator(`#panel-${tab} > *`).first().scrollIntoViewIfNeeded();
}

const drawn = (page, which) => page.locator(`[data-test=icicle][data-root]${which}`).waitFor();
const WHOLE = '[data-root="0"]';
const ZOOMED = ':not([data-root="0"])';

async function icicle(page) {
  await drawn(page, WHOLE);
  return page.getByTestId('icicle');
}

async function grid(page) {
  await page.locator('.allocations').getByTestId('rows').scrollIntoViewIfNeeded();
  await page.locator('.allocations .rows-line .bytes').first().waitFor();
  return page.locator('.allocations').getByTestId('rows');
}

test('the icicle zooms to a frame and back, by pointer and by keyboard', () =>
  visit(shared.browser, site(), async (page) => {
    await explore(page, FIXTURE, 'stacks');
    const canvas = await icicle(page);
    const crumbs = page.getByTestId('crumbs');
    await canvas.click({ position: { x: 40, y: 52 } });
    await drawn(page, ZOOMED);
    assert.match(await crumbs.textContent(), /^All<module>.*/);
    await crumbs.getByRole('button', { name: 'All' }).click();
    await drawn(page, WHOLE);
    assert.equal(await crumbs.isVisible(), false);

    await canvas.focus();
    await canvas.press('ArrowDown');
    await canvas.press('ArrowDown');
    await page.getByTestId('stacks-readout').filter({ hasText: 'scenarios.py' }).waitFor();
    await canvas.press('Enter');
    await drawn(page, ZOOMED);
    await canvas.press('Escape');
    await canvas.press('Escape');
    await drawn(page, WHOLE);
  }));

test('a frame is read out, and its place is copied', () =>
  visit(shared.browser, site(), async (page) => {
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await explore(page, FIXTURE, 'stacks');
    const canvas = await icicle(page);
    await canvas.click({ position: { x: 40, y: 31 } });
    await drawn(page, ZOOMED);
    const readout = page.getByTestId('stacks-readout');
    await readout.filter({ hasText: 'scenarios.py:519' }).waitFor();
    await page.getByRole('heading', { name: 'Explore' }).hover();
    await readout.getByRole('button', { name: 'Copy file and line' }).first().click();
    await readout.getByText('Copied', { exact: true }).waitFor({ state: 'attached' });
    assert.match(await page.evaluate(() => navigator.clipboard.readText()), /scenarios\.py:519$/);
  }));

test('the direction and the frames are chosen, and the table says the same', () =>
  visit(shared.browser, site(), async (page) => {
    await explore(page, FIXTURE, 'stacks');
    const canvas = await icicle(page);
    const cells = async () => Number(await canvas.getAttribute('data-cells'));
    const before = await cells();
    await page.getByRole('group', { name: 'Frames' }).getByRole('button', { name: 'All frames' }).click();
    await page.waitForFunction((known) => Number(document.querySelector('oom-scope').shadowRoot.querySelector('[data-test=icicle]').dataset.cells) > known, before);
    const upwards = page.getByRole('button', { name: 'Bottom-up' });
    await upwards.click();
    assert.equal(await upwards.getAttribute('aria-pressed'), 'true');
    await page.getByRole('button', { name: 'Your code' }).click();
    await page.getByTestId('explore').getByText('The same as a table').click();
    const table = page.getByTestId('explore').locator('.twin table');
    await table.getByText('scenarios.py:248').waitFor();
    assert.match(await page.getByTestId('stacks-total').textContent(), /GiB in [\d,]+ allocations/);
  }));

test('the text looked for filters stacks and allocations alike', () =>
  visit(shared.browser, site(), async (page) => {
    await explore(page, FIXTURE, 'stacks');
    await icicle(page);
    const total = page.getByTestId('stacks-total');
    const all = await total.textContent();
    await page.getByTestId('needle').fill('scenarios.py:248');
    await page.waitForFunction((before) => document.querySelector('oom-scope').shadowRoot.querySelector('[data-test=stacks-total]').textContent !== before, all);
    const filtered = await total.textContent();
    await page.getByTestId('tab-allocations').click();
    await grid(page);
    const count = /in ([\d,]+ allocations?|one allocation)/.exec(filtered)[1];
    assert.match((await page.getByTestId('allocations-total').textContent()).toLowerCase(), new RegExp(`^${count}`));
    await page.getByTestId('needle').fill('no such frame');
    await page.getByText('Nothing is counted here.').filter({ visible: true }).waitFor();
  }));

test('allocations are sorted, filtered, scrolled and read out', () =>
  visit(shared.browser, site(), async (page) => {
    await explore(page, fixture('leak_loss_history'), 'allocations');
    const rows = await grid(page);
    const first = () => page.locator('.allocations .rows-line').first().textContent();
    const header = (name) => rows.getByRole('columnheader', { name });
    assert.equal(await header('Size').getAttribute('aria-sort'), 'descending');
    const largest = await first();
    await header('Size').getByRole('button').click();
    await rows.locator('[aria-sort=ascending]').waitFor();
    await page.waitForFunction((before) => {
      const line = document.querySelector('oom-scope').shadowRoot.querySelector('.allocations .rows-line .bytes');
      return line !== null && !line.closest('.rows-line').textContent.startsWith(before);
    }, largest.split(' ')[0]);

    const all = Number(await rows.getAttribute('data-count'));
    await page.getByTestId('min-size').fill('1 MiB');
    await page.waitForFunction((before) => Number(document.querySelector('oom-scope').shadowRoot.querySelector('.allocations .rows').dataset.count) < before, all);
    assert.match(await page.getByTestId('allocations-total').textContent(), new RegExp(`of ${all.toLocaleString('en')} before the filters`));
    await page.getByTestId('min-size').fill('8 apples');
    await page.getByTestId('allocations-problem').filter({ hasText: '"8 apples" is no size' }).waitFor();
    await page.getByTestId('min-size').fill('');
    await page.getByTestId('allocations-problem').waitFor({ state: 'hidden' });

    await rows.focus();
    await rows.press('End');
    await page.waitForFunction((last) => {
      const line = document.querySelector('oom-scope').shadowRoot.querySelector(`.allocations [aria-rowindex="${last}"]`);
      return line !== null && line.querySelector('.bytes') !== null;
    }, all + 1);
    assert.ok((await page.locator('.allocations .rows-line').count()) < 40, 'only rows in sight exist');
    await rows.press('Enter');
    const detail = page.getByTestId('allocation');
    await detail.filter({ hasText: 'bytes requested' }).waitFor();
    await detail.getByRole('button', { name: 'Show where it was made' }).click();
    await page.getByTestId('readout').filter({ hasText: 'pinned' }).filter({ hasText: 'alloc' }).waitFor();
  }));

test('what is filtered is saved as a file of comma-separated values', () =>
  visit(shared.browser, site(), async (page) => {
    await explore(page, FIXTURE, 'allocations');
    const rows = await grid(page);
    const count = Number(await rows.getAttribute('data-count'));
    const [download] = await Promise.all([page.waitForEvent('download'), page.getByTestId('save-csv').click()]);
    assert.equal(download.suggestedFilename(), 'fragmentation_varlen_default-allocations.csv');
    const lines = readFileSync(await download.path(), 'utf8').trimEnd().split('\r\n');
    assert.equal(lines.length, count + 1);
    assert.match(lines[0], /^size_bytes,requested_bytes,category,/);
  }));

test('a step that is chosen becomes the range, and the timeline shows it', () =>
  visit(shared.browser, site(), async (page) => {
    await explore(page, fixture('leak_loss_history'), 'steps');
    await page.locator('[data-test=steps-chart][data-steps]').waitFor();
    const rows = page.locator('.steps').getByTestId('rows');
    const line = rows.locator('.rows-line').nth(3);
    await line.locator('.bytes').first().waitFor();
    await line.click();
    await rows.locator('.rows-line.picked').waitFor();
    const { begin, end } = await shownRange(page);
    assert.ok(begin > 0 && end > begin);
    await page.getByTestId('tab-stacks').click();
    await page.getByTestId('moment').filter({ hasText: `Entries ${begin.toLocaleString('en')} to ${(end - 1).toLocaleString('en')}` }).waitFor();
    await page.getByTestId('counted').selectOption('allocated');
    await page.getByTestId('tab-steps').click();
    await page.getByTestId('steps-chart').click({ position: { x: 70, y: 120 } });
    await page.waitForFunction((before) => {
      const chosen = document.querySelector('oom-scope').shadowRoot.querySelector('[data-test=timeline]');
      return Number(chosen.dataset.begin) !== before;
    }, begin);
  }));

test('a file without stacks or steps says so and how to get them', () =>
  visit(shared.browser, site(), async (page) => {
    await explore(page, fixture('shape_never_recorded'), 'stacks');
    await page.getByTestId('stacks-note').filter({ hasText: 'None of these allocations has a stack' }).waitFor();
    await page.getByTestId('tab-allocations').click();
    await grid(page);
    await page.getByTestId('tab-steps').click();
    await page.getByTestId('steps-note').filter({ hasText: 'No steps are seen' }).waitFor();
  }));

test('names of frames are shown as text in the explorer too', () =>
  visit(shared.browser, site(), async (page) => {
    await explore(page, hostileNames(folder), 'stacks');
    const canvas = await icicle(page);
    await canvas.hover({ position: { x: 40, y: 31 } });
    await page.getByTestId('stacks-readout').filter({ hasText: HOSTILE_NAME }).waitFor();
    await page.getByTestId('tab-allocations').click();
    await grid(page);
    await page.locator('.allocations .rows').filter({ hasText: HOSTILE_NAME }).waitFor();
    assert.equal(await page.locator('img[src=x]').count(), 0);
  }));
