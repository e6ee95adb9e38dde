/** What the hosted page answers beyond the verdict: error texts, Markdown. */
import assert from 'node:assert/strict';
import { mkdtempSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { choose, DIST, drop, FIXTURE, opened, setUp, visit } from './harness.mjs';

const shared = setUp(path.join(DIST, 'site'));
const site = () => `${shared.origin}/`;

const MESSAGE =
  'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.10 GiB. GPU 0 has a total capacity of 9.00 GiB ' +
  'of which 700.00 MiB is free. Including non-PyTorch memory, this process has 5.30 GiB memory in use. Of the allocated ' +
  'memory 2.94 GiB is allocated by PyTorch, and 1.77 GiB is reserved by PyTorch but unallocated.';

test('a pasted error is explained, and the way back is open', () =>
  visit(shared.browser, site(), async (page) => {
    await page.getByTestId('error-text').fill(MESSAGE);
    await page.getByTestId('explain').click();
    await page.getByTestId('message-headline').filter({ hasText: /\S/ }).waitFor();
    assert.match(await page.getByTestId('answer').textContent(), /fragmentation.*Next step/is);
    await page.getByTestId('pasted').fill('HIP out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 8.00 GiB.');
    await page.getByTestId('pasted').blur();
    await page.getByText('ROCm').first().waitFor();
    await page.getByRole('button', { name: 'Start again' }).click();
    await page.getByTestId('error-text').waitFor();
  }));

test('a text without a message says what to do', () =>
  visit(shared.browser, site(), async (page) => {
    await page.getByTestId('error-text').fill('KeyError: "step"');
    await page.getByTestId('explain').click();
    await page.getByTestId('answer').filter({ hasText: 'Paste the whole error' }).waitFor();
  }));

test('a dropped log is read as an error, and a text without one is refused', () =>
  visit(shared.browser, site(), async (page) => {
    const folder = mkdtempSync(path.join(os.tmpdir(), 'oomscope-'));
    const log = path.join(folder, 'train.log');
    writeFileSync(log, `epoch 1\n[rank0]: ${MESSAGE}\nexiting\n`);
    await drop(page, log);
    await page.getByTestId('message').waitFor();
    const prose = path.join(folder, 'notes.txt');
    writeFileSync(prose, 'Nothing to see here.\n');
    await choose(page, prose);
    await page.getByTestId('error').filter({ hasText: 'notes.txt' }).waitFor();
    await choose(page, FIXTURE);
    await opened(page);
  }));

test('the error’s text completes the snapshot', () =>
  visit(shared.browser, site(), async (page) => {
    await choose(page, FIXTURE);
    await opened(page);
    await page.getByTestId('completion-text').fill(MESSAGE);
    const said = page.getByTestId('completion');
    await said.filter({ hasText: '2.94 GiB allocated in both' }).waitFor();
    assert.match(await said.textContent(), /belong to other processes/);
  }));

test('the verdict is copied as Markdown', () =>
  visit(shared.browser, site(), async (page) => {
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await choose(page, FIXTURE);
    const headline = await opened(page);
    await page.getByRole('button', { name: 'Copy as Markdown' }).click();
    await page.getByText('Copied').first().waitFor();
    const copied = await page.evaluate(() => navigator.clipboard.readText());
    assert.ok(copied.startsWith(`### ${headline}`), copied.slice(0, 100));
    assert.match(copied, /\| memory \| bytes \|/);
  }));
