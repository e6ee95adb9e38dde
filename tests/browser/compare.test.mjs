/** Comparisons on the hosted page: from files to the verdict, and to one file and back. */
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { audit } from './axe.mjs';
import { cutPickle, summaryOf, temporaryFolder, textFile } from './files.mjs';
import { choose, compared, DIST, drop, opened, ROOT, setUp, visit } from './harness.mjs';
import { Job } from './job.mjs';

const folder = temporaryFolder();
const shared = setUp(path.join(DIST, 'site'));
const fixture = (name) => path.join(ROOT, `tests/fixtures/${name}.pickle.xz`);
const BEFORE = fixture('cat_gpt_adamw');
const AFTER = fixture('cat_gpt_checkpoint');

test('two runs that are dropped are compared, and their parts sum to the whole', () =>
  visit(shared.browser, shared.origin, async (page) => {
    await drop(page, [BEFORE, AFTER]);
    assert.match(await compared(page), /^cat_gpt_checkpoint peaks 882\.01 MiB lower than cat_gpt_adamw/);
    const categories = page.getByTestId('categories');
    const changes = await categories.locator('tbody .change-cell .bytes').evaluateAll((cells) => cells.map((cell) => cell.title));
    const sum = changes.map(bytesOf).reduce((all, change) => all + change, 0);
    assert.equal(sum, bytesOf(await categories.locator('tfoot .sum .change-cell .bytes').getAttribute('title')));
    const sites = page.getByTestId('sites');
    await sites.getByRole('button', { name: 'scenarios.py:99' }).first().click();
    await sites.locator('.stack').waitFor();
    await page.locator('[data-test=course][data-drawn]').waitFor();
    await page.getByText('The same as a table').click();
    await page.getByRole('row', { name: 'Step 2' }).waitFor();
    await audit(page);
  }));

test('a click swaps the two, another copies', () =>
  visit(shared.browser, shared.origin, async (page) => {
    await choose(page, [BEFORE, AFTER]);
    await compared(page);
    await page.getByTestId('swap').click();
    await page.getByTestId('compare-headline').filter({ hasText: /^cat_gpt_adamw peaks 882\.01 MiB higher/ }).waitFor();
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    for (const [name, begin] of [
      ['Copy as Markdown', '### cat_gpt_adamw peaks'],
      ['Copy as text', 'cat_gpt_adamw peaks'],
    ]) {
      await page.getByRole('button', { name }).click();
      await page.waitForFunction(async (text) => (await navigator.clipboard.readText()).startsWith(text), begin);
    }
  }));

test('moments of one run name the line that keeps, and mark what is confirmed', () =>
  visit(shared.browser, shared.origin, async (page) => {
    const job = new Job({ kept: 3 });
    const files = ['first', 'second', 'third'].map((name) => job.steps(8).dump(path.join(folder, `${name}.json`)));
    await drop(page, files);
    assert.match(await compared(page), /train\.py:24 forward.*3\.00 MiB in each step/);
    const growth = page.getByTestId('growth');
    await growth.getByRole('row', { name: /train\.py:24.*48\.00 MiB.*leak/s }).waitFor();
    assert.equal(await page.getByTestId('swap').count(), 0);
    assert.equal(await page.getByTestId('course').count(), 0);
  }));

test('a folder of ranks: who stands out, what is cut and what is missing; one opens in full and back', () =>
  visit(shared.browser, shared.origin, async (page) => {
    await page.getByTestId('folder-input').setInputFiles(ranks('ranks'));
    const headline = await compared(page);
    assert.match(headline, /^rank5 peaks at 539\.00 MiB, above the median/);
    await page.getByText('rank3 is missing').waitFor();
    await page.getByTestId('unreadable').filter({ hasText: /rank7: the JSON text ends/ }).waitFor();
    const rows = page.getByTestId('ranks').locator('tbody tr');
    assert.deepEqual(await names(rows), ['rank0', 'rank1', 'rank2', 'rank4', 'rank5', 'rank6', 'rank8', 'rank9', 'rank10']);
    await page.getByTestId('ranks').getByRole('button', { name: 'Peak' }).click();
    assert.equal((await names(rows))[0], 'rank5');
    assert.match(await rows.first().textContent(), /stands out/);
    await audit(page);
    await page.getByRole('button', { name: 'Open rank5 in full' }).click();
    await opened(page);
    // Nothing is read anew: the comparison is as it was left.
    await page.getByTestId('back').click();
    assert.equal(await page.getByTestId('compare-headline').textContent(), headline);
    assert.equal((await names(rows))[0], 'rank5');
    await page.getByRole('button', { name: 'Open rank6 in full' }).click();
    await opened(page);
    // Another file leaves the comparison.
    await choose(page, BEFORE);
    await page.getByText('cat_gpt_adamw.pickle.xz').first().waitFor();
    await page.getByTestId('back').waitFor({ state: 'hidden' });
  }));

test('a summary is compared with a snapshot, and shows its facts alone', () => {
  const summary = summaryOf(AFTER, path.join(folder, 'summary.json'));
  return visit(shared.browser, shared.origin, async (page) => {
    await choose(page, [BEFORE, summary]);
    assert.match(await compared(page), /^summary peaks 882\.01 MiB lower than cat_gpt_adamw/);
    assert.equal(await page.getByTestId('open-full').count(), 1);
    await choose(page, summary);
    await page.getByText('This is a summary of summary').waitFor();
  });
});

test('an open report is compared with another file', () =>
  visit(shared.browser, shared.origin, async (page) => {
    await choose(page, BEFORE);
    await opened(page);
    const chooser = page.waitForEvent('filechooser');
    await page.getByTestId('compare-with').click();
    await (await chooser).setFiles(AFTER);
    assert.match(await compared(page), /^cat_gpt_checkpoint peaks 882\.01 MiB lower than cat_gpt_adamw/);
  }));

test('cards say whether each run fits', () =>
  visit(shared.browser, shared.origin, async (page) => {
    await choose(page, [BEFORE, AFTER]);
    await compared(page);
    await page.getByTestId('compare-card').selectOption({ label: 'T4, 16 GB' });
    const answers = page.getByTestId('compare-cards').locator('li');
    await answers.nth(1).waitFor();
    assert.match(await answers.first().textContent(), /^cat_gpt_adamw fits into/);
    // The card stays chosen when the files are swapped, and its answer is there at once.
    await page.getByTestId('swap').click();
    await answers.filter({ hasText: /^cat_gpt_checkpoint fits into/ }).waitFor();
    assert.match(await answers.first().textContent(), /^cat_gpt_checkpoint fits into/);
    assert.equal(await chosenCard(page), 'T4, 16 GB');
  }));

test('a card that is chosen while the files are being swapped is asked about all the same', () =>
  visit(shared.browser, shared.origin, async (page) => {
    await choose(page, [BEFORE, AFTER]);
    await compared(page);
    const card = await page.getByTestId('compare-card').elementHandle();
    const swap = await page.getByTestId('swap').elementHandle();
    await page.evaluate(
      ([select, button]) => {
        button.click();
        select.selectedIndex = 1;
        select.dispatchEvent(new Event('change'));
      },
      [card, swap],
    );
    await page.getByTestId('compare-cards').locator('li').nth(1).waitFor();
    assert.match(await compared(page), /^cat_gpt_adamw peaks 882\.01 MiB higher/);
    assert.equal(await chosenCard(page), 'RTX 2080 Ti, 11 GB');
  }));

test('cancel ends all reading, and the next comparison works', () => {
  const hanging = { is: true };
  return visit(
    shared.browser,
    shared.origin,
    async (page) => {
      await choose(page, [BEFORE, AFTER]);
      await page.getByTestId('progress').waitFor();
      hanging.is = false;
      await page.getByTestId('cancel').click();
      await page.getByTestId('drop').waitFor();
      await choose(page, [BEFORE, AFTER]);
      await compared(page);
    },
    { prepare: (page) => hangReading(page, hanging) },
  );
});

test('files that cannot be read are named, each with its error', () =>
  visit(shared.browser, shared.origin, async (page) => {
    const broken = [cutPickle(folder), textFile(folder)];
    await choose(page, [BEFORE, ...broken]);
    // One that is left is shown by itself, and opens.
    await page.getByText('Only cat_gpt_adamw could be read').waitFor();
    assert.equal(await page.getByTestId('unreadable').locator('li').count(), 2);
    await page.getByTestId('open-full').click();
    await opened(page);
    await choose(page, broken);
    await page.getByTestId('compare-headline').filter({ hasText: 'None of these files' }).waitFor();
  }));

test('a folder without a snapshot says so', () =>
  visit(shared.browser, shared.origin, async (page) => {
    const empty = path.join(folder, 'empty');
    mkdirSync(empty);
    writeFileSync(path.join(empty, 'notes.txt'), 'none');
    await page.getByTestId('folder-input').setInputFiles(empty);
    await page.getByTestId('error').filter({ hasText: 'no snapshot in that folder' }).waitFor();
    await page.getByTestId('drop').waitFor();
  }));

/** Ten ranks, of which one has the long sequences and one is cut, with a gap in their numbers and other files beside them. */
function ranks(name) {
  const job = path.join(folder, name);
  mkdirSync(path.join(job, 'node0'), { recursive: true });
  for (const rank of [0, 1, 2, 4, 5, 6, 7, 8, 9, 10]) {
    const program = { base: 0x7f0000000000 - rank * 2 ** 40, beginUs: 1_000_000 + 3 * rank, activations: rank === 5 ? 512 : 64 };
    new Job(program).steps(5).dump(path.join(job, `node0/rank${rank}.json`));
  }
  const cut = path.join(job, 'node0/rank7.json');
  const whole = readFileSync(cut);
  writeFileSync(cut, whole.subarray(0, whole.length / 2));
  writeFileSync(path.join(job, 'settings.json'), '{"lr": 0.1}');
  writeFileSync(path.join(job, 'notes.txt'), 'none');
  return job;
}

function names(rows) {
  return rows.locator('.rank-name').allTextContents();
}

/** The exact number behind a shown one. */
function bytesOf(title) {
  return Number(title.replaceAll(',', '').replace('−', '-').replace(' bytes', ''));
}

/** While `hanging.is`, workers never return from reading, as one does for minutes on a huge file. */
async function hangReading(page, hanging) {
  await page.route('**/oom-worker.js*', async (route) => {
    if (!hanging.is) {
      await route.continue();
      return;
    }
    const response = await route.fetch();
    const prelude = "addEventListener('message', (event) => { if (event.data.kind === 'runOf') { for (;;); } });\n";
    await route.fulfill({ response, body: prelude + (await response.text()) });
  });
}

function chosenCard(page) {
  return page.getByTestId('compare-card').evaluate((select) => select.selectedOptions[0].label);
}
