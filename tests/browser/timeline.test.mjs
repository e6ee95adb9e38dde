/** The timeline's pictures, axes, ranges, keys and links, on real recordings. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { audit } from './axe.mjs';
import { choose, DIST, FIXTURE, opened, ROOT, setUp, shownRange, visit } from './harness.mjs';

const shared = setUp(path.join(DIST, 'site'));
const LEAK = path.join(ROOT, 'tests/fixtures/leak_loss_history.pickle.xz');

function withReport(file, body, options = {}) {
  return visit(
    shared.browser,
    `${shared.origin}/${options.fragment ?? ''}`,
    async (page) => {
      await page.getByTestId('drop').waitFor();
      await choose(page, file);
      await opened(page);
      await page.getByTestId('timeline').scrollIntoViewIfNeeded();
      await body(page);
    },
    options,
  );
}

/** The middle of the timeline's canvas, and what surrounds it. */
function box(page) {
  return page.getByTestId('timeline').boundingBox();
}

test('each picture shows the memory in its own way, and an allocation is read under the pointer', async () => {
  await withReport(FIXTURE, async (page) => {
    const readout = page.getByTestId('readout');
    for (const picture of ['heap', 'addresses']) {
      await page.getByTestId(`show-${picture}`).click();
      const { x, y, width, height } = await box(page);
      // Somewhere in the column there is an allocation.
      for (let share = 0.9; share > 0.1; share -= 0.04) {
        await page.mouse.move(x + 0.5 * width, y + share * height);
        if ((await readout.textContent()).includes('Allocation of')) {
          break;
        }
      }
      await readout.getByText('Allocation of').waitFor();
      await readout.getByText(/lives from entry/).waitFor();
      await page.mouse.move(x, y - 30);
    }
    await page.getByTestId('show-line').click();
    await page.getByTestId('legend').getByRole('button', { name: /scenarios\.py:\d+ / }).first().waitFor();
    assert.equal(await page.getByTestId('show-line').getAttribute('aria-pressed'), 'true');
  });
});

test('a line of the legend is kept alone, in the picture and in what is counted', async () => {
  await withReport(LEAK, async (page) => {
    await page.getByTestId('show-line').click();
    const line = page.getByTestId('legend').getByRole('button', { name: 'scenarios.py:117 forward' });
    await line.click();
    assert.equal(await line.getAttribute('aria-pressed'), 'true');
    assert.equal(await page.getByTestId('needle').inputValue(), 'scenarios.py:117');
    await line.click();
    assert.equal(await page.getByTestId('needle').inputValue(), '');
  });
});

test('a range tells what it made, freed and kept, and can be zoomed to', async () => {
  await withReport(LEAK, async (page) => {
    await page.getByTestId('selecting').click();
    const { x, y, width } = await box(page);
    await page.mouse.move(x + 0.4 * width, y + 80);
    await page.mouse.down();
    await page.mouse.move(x + 0.6 * width, y + 80, { steps: 5 });
    await page.mouse.up();
    const story = page.getByTestId('range');
    await story.getByText('made and kept').waitFor();
    const [first, last] = /entries ([\d,]+) to ([\d,]+)/.exec(await story.textContent()).slice(1).map((text) => Number(text.replaceAll(',', '')));
    assert.match(await page.getByTestId('moment').textContent(), /Entries .* to .*: what was/);
    await story.getByRole('button', { name: 'Zoom to it' }).click();
    await page.waitForFunction((begin) => {
      const canvas = document.querySelector('oom-scope').shadowRoot.querySelector('[data-test=timeline]');
      return Number(canvas.dataset.begin) === begin;
    }, first);
    assert.deepEqual(await shownRange(page), { begin: first, end: last + 1 });
    await story.getByRole('button', { name: 'Let go' }).click();
    await story.waitFor({ state: 'hidden' });
  });
});

test('time may lie along the axis', async () => {
  await withReport(LEAK, async (page) => {
    await page.getByTestId('show-time').click();
    await page.waitForFunction(() => {
      const canvas = document.querySelector('oom-scope').shadowRoot.querySelector('[data-test=timeline]');
      return Number(canvas.dataset.end) > 1_000_000;
    });
    const { x, y, width } = await box(page);
    await page.mouse.click(x + 0.95 * width, y + 100);
    await page.getByTestId('readout').getByText('pinned').waitFor();
    await page.getByTestId('show-entries').click();
    await page.waitForFunction(() => {
      const canvas = document.querySelector('oom-scope').shadowRoot.querySelector('[data-test=timeline]');
      return Number(canvas.dataset.end) === 27_531;
    });
  });
});

test('keys go from step to step, search and show themselves', async () => {
  await withReport(LEAK, async (page) => {
    const title = page.getByTestId('readout').locator('strong').first();
    const before = await title.textContent();
    await page.keyboard.press('[');
    await page.waitForFunction((text) => {
      const readout = document.querySelector('oom-scope').shadowRoot.querySelector('[data-test=readout] strong');
      return readout.textContent !== text;
    }, before);
    await page.keyboard.press('?');
    await page.getByTestId('help').getByText('search the stacks').waitFor();
    await page.keyboard.press('Escape');
    await page.getByTestId('help').waitFor({ state: 'hidden' });
    await page.keyboard.press('/');
    await page.keyboard.type('w0');
    assert.equal(await page.getByTestId('needle').inputValue(), 'w0', 'a field takes its keys for itself');
    assert.deepEqual(await shownRange(page), { begin: 0, end: 27_531 });
  });
});

test('the address leads back to the view', async () => {
  let address = null;
  await withReport(LEAK, async (page) => {
    await page.getByTestId('show-heap').click();
    await page.keyboard.press('w');
    await page.waitForFunction(() => location.hash.includes('picture=heap') && location.hash.includes('shown='));
    address = await page.evaluate(() => location.hash);
  });
  const shown = /shown=(\d+)-(\d+)/.exec(address).slice(1).map(Number);
  await withReport(
    LEAK,
    async (page) => {
      assert.deepEqual(await shownRange(page), { begin: shown[0], end: shown[1] });
      assert.equal(await page.getByTestId('show-heap').getAttribute('aria-pressed'), 'true');
    },
    { fragment: address },
  );
  await withReport(
    FIXTURE,
    async (page) => assert.equal(await page.getByTestId('show-heap').getAttribute('aria-pressed'), 'false', 'another file has another view'),
    { fragment: address },
  );
});

test('the picture is saved as PNG and as SVG', async () => {
  await withReport(LEAK, async (page) => {
    for (const [kind, begin] of [['PNG', '\x89PNG'], ['SVG', '<svg']]) {
      const download = page.waitForEvent('download');
      await page.getByRole('button', { name: `Save the picture as ${kind}` }).click();
      const saved = await download;
      assert.equal(saved.suggestedFilename(), `leak_loss_history.${kind.toLowerCase()}`);
      const bytes = await readFile(await saved.path());
      assert.equal(bytes.subarray(0, 4).toString('latin1'), begin);
      assert.ok(bytes.length > 2_000, `${bytes.length} bytes`);
    }
  });
});

test('the report is open to everybody', async () => {
  await withReport(LEAK, async (page) => {
    for (const picture of ['line', 'heap']) {
      await page.getByTestId(`show-${picture}`).click();
      await audit(page);
    }
  });
});
