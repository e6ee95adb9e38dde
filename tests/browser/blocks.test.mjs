/** The memory map on the hosted page: it follows the pinned entry and reads blocks out. */
import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { HOSTILE_NAME, hostileNames, temporaryFolder } from './files.mjs';
import { choose, DIST, FIXTURE, opened, setUp, visit } from './harness.mjs';

const folder = temporaryFolder();
const shared = setUp(path.join(DIST, 'site'));
const site = () => `${shared.origin}/`;

/** Scrolls to the map and waits until it is drawn; answers its entry. */
async function mapped(page) {
  await page.getByTestId('memory-map').scrollIntoViewIfNeeded();
  const map = page.locator('[data-test=map][data-entry]');
  await map.waitFor();
  return Number(await map.getAttribute('data-entry'));
}

test('the map shows the entry judged, what the request found and what keeps memory idle', () =>
  visit(shared.browser, site(), async (page) => {
    await choose(page, FIXTURE);
    await opened(page);
    await mapped(page);
    const words = await page.getByTestId('memory-map').textContent();
    assert.match(words, /1\.10 GiB were asked for here\. 1\.77 GiB lay idle/);
    assert.match(await page.getByTestId('pins').textContent(), /103 blocks.*scenarios\.py:244.*33 segments/);
  }));

test('a block is read out under the pointer, and kept by a click', () =>
  visit(shared.browser, site(), async (page) => {
    await choose(page, FIXTURE);
    await opened(page);
    await mapped(page);
    const map = page.getByTestId('map');
    const readout = page.getByTestId('map-readout');
    await map.hover({ position: { x: 40, y: 30 } });
    await readout.filter({ hasText: 'Block of 1.10 GiB' }).filter({ hasText: 'scenarios.py:248' }).waitFor();
    await page.getByRole('heading', { name: 'Memory map' }).hover();
    await readout.filter({ hasText: 'Point at the map' }).waitFor();
    await map.click({ position: { x: 40, y: 30 } });
    await page.getByRole('heading', { name: 'Memory map' }).hover();
    await readout.filter({ hasText: 'Block of 1.10 GiB' }).waitFor();
  }));

test('the arrow keys go from block to block and from segment to segment, and Escape lets go', () =>
  visit(shared.browser, site(), async (page) => {
    await choose(page, FIXTURE);
    await opened(page);
    await mapped(page);
    const map = page.getByTestId('map');
    const readout = page.getByTestId('map-readout');
    const title = () => readout.locator('.readout-title').textContent();
    const went = async (key) => {
      const before = await readout.textContent();
      await map.press(key);
      await page.waitForFunction(
        (words) => document.querySelector('oom-scope').shadowRoot.querySelector('[data-test=map-readout]').textContent !== words,
        before,
      );
      return readout.textContent();
    };
    const first = await went('ArrowRight');
    assert.match(await title(), /Block of 1\.10 GiB/);
    const second = await went('ArrowRight');
    assert.equal(await went('ArrowLeft'), first);
    const below = await went('ArrowDown');
    assert.notEqual(below, first);
    assert.equal(await went('ArrowUp'), first);
    assert.equal(await went('ArrowRight'), second);
    await page.getByRole('heading', { name: 'Memory map' }).hover();
    assert.equal(await readout.textContent(), second, 'the pointer elsewhere takes nothing away');
    assert.match(await went('Escape'), /Point at the map/);
  }));

test('the map follows when another entry is pinned', () =>
  visit(shared.browser, site(), async (page) => {
    await choose(page, FIXTURE);
    await opened(page);
    const judged = await mapped(page);
    await page.getByTestId('timeline').press(',');
    await page.locator(`[data-test=map][data-entry="${judged - 1}"]`).waitFor();
  }));

test('names of frames are shown as text in the map too', () =>
  visit(shared.browser, site(), async (page) => {
    await choose(page, hostileNames(folder));
    await opened(page);
    await mapped(page);
    await page.getByTestId('map').hover({ position: { x: 40, y: 30 } });
    await page.getByTestId('map-readout').filter({ hasText: HOSTILE_NAME }).waitFor();
    assert.equal(await page.locator('img[src=x]').count(), 0);
  }));
