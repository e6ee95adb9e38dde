/** Every feature of the page, one after another, as a person would come by them. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { choose, compared, drop, opened } from './harness.mjs';
import { Job } from './job.mjs';

const MESSAGE =
  'File "/home/planted/secret/train.py", line 3, in <module>\n' +
  'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.10 GiB. GPU 0 has a total capacity of 9.00 GiB of which ' +
  '700.00 MiB is free. Including non-PyTorch memory, this process has 5.30 GiB memory in use. Of the allocated memory 2.94 GiB ' +
  'is allocated by PyTorch, and 1.77 GiB is reserved by PyTorch but unallocated.\n';

/** What was copied last. */
const clipboard = (page) => page.evaluate(() => navigator.clipboard.readText());

/** Presses a button that copies, and answers what it copied. */
export async function copied(page, button) {
  await page.evaluate(() => navigator.clipboard.writeText(''));
  await button.click();
  await page.waitForFunction(async () => (await navigator.clipboard.readText()) !== '');
  return clipboard(page);
}

/** Presses a button that saves, and answers what it saved. */
export async function saved(page, button) {
  const download = page.waitForEvent('download');
  await button.click();
  return readFileSync(await (await download).path());
}

/** From the empty page to the last button. `folder` takes the files that the tour makes. */
export async function tour(page, folder, file) {
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await texts(page, folder);
  await choose(page, file);
  await opened(page);
  await timeline(page);
  await map(page);
  await explorer(page);
  await whatIf(page);
  await shares(page);
  await comparisons(page, folder);
}

async function texts(page, folder) {
  await page.getByTestId('error-text').fill(MESSAGE);
  await page.getByTestId('explain').click();
  await page.getByTestId('message-headline').waitFor();
  await copied(page, page.getByRole('button', { name: 'Copy as text' }));
  await page.getByRole('button', { name: 'Start again' }).click();
  const log = path.join(folder, 'train.log');
  writeFileSync(log, `epoch 1\n${MESSAGE}`);
  await drop(page, log);
  await page.getByTestId('message').waitFor();
}

async function timeline(page) {
  const canvas = page.getByTestId('timeline');
  for (const picture of ['line', 'heap', 'addresses', 'category']) {
    await page.getByTestId(`show-${picture}`).click();
    await page.locator('[data-test=timeline][data-end]').waitFor();
    await canvas.hover();
  }
  await page.getByTestId('show-line').click();
  const line = page.getByTestId('legend').getByRole('button', { name: /\.py:\d+ / }).first();
  await line.click();
  await line.click();
  await page.getByTestId('show-category').click();
  await page.getByTestId('show-time').click();
  await page.getByTestId('show-entries').click();
  await canvas.click({ position: { x: 300, y: 120 } });
  for (const key of ['w', 'd', 'a', 's', '[', ']', '0', '?']) {
    await page.keyboard.press(key);
  }
  await page.getByTestId('help').waitFor();
  await page.keyboard.press('Escape');
  await page.getByTestId('help').waitFor({ state: 'hidden' });
  await page.getByTestId('selecting').click();
  const { x, y, width } = await canvas.boundingBox();
  await page.mouse.move(x + 0.4 * width, y + 80);
  await page.mouse.down();
  await page.mouse.move(x + 0.6 * width, y + 80, { steps: 4 });
  await page.mouse.up();
  await page.getByTestId('range').getByRole('button', { name: 'Let go' }).waitFor();
  await page.getByTestId('counted').selectOption('allocated');
}

async function map(page) {
  await page.getByTestId('memory-map').scrollIntoViewIfNeeded();
  await page.locator('[data-test=map][data-entry]').waitFor();
  await page.getByTestId('map').hover({ position: { x: 40, y: 30 } });
}

async function explorer(page) {
  await page.getByTestId('tab-stacks').click();
  await page.locator('[data-test=icicle][data-root]').waitFor();
  await page.getByTestId('icicle').click({ position: { x: 40, y: 52 } });
  await page.getByTestId('needle').fill('planted');
  await page.getByTestId('needle').fill('');
  await page.getByTestId('tab-allocations').click();
  await page.getByTestId('min-size').fill('1 KiB');
  await page.locator('.allocations .rows-line').first().click();
  await page.getByTestId('allocation').waitFor();
  await page.getByTestId('tab-steps').click();
  await page.getByTestId('panel-steps').or(page.locator('#panel-steps')).first().waitFor();
  await page.getByTestId('tab-allocations').click();
}

async function whatIf(page) {
  await page.getByTestId('what-if').scrollIntoViewIfNeeded();
  await page.getByTestId('card').selectOption({ label: 'H100, 80 GB' });
  await page.getByTestId('settings').locator('tbody tr').first().waitFor();
  await page.getByTestId('completion-text').fill(MESSAGE);
  await page.getByTestId('completion').filter({ hasText: /\S/ }).waitFor();
}

/** Both ways, with folders and without. */
async function shares(page) {
  const choice = page.getByTestId('without-folders');
  for (const isLeftOut of [false, true]) {
    await choice.setChecked(isLeftOut);
    await copied(page, page.getByRole('button', { name: 'Copy as Markdown' }));
    await copied(page, page.getByRole('button', { name: 'Copy as text' }));
    await copied(page, page.getByRole('button', { name: 'Copy file and line' }).first());
    await saved(page, page.getByRole('button', { name: 'Save the picture as PNG' }));
    await saved(page, page.getByRole('button', { name: 'Save the picture as SVG' }));
    await saved(page, page.getByTestId('save-csv'));
    await saved(page, page.getByTestId('save-page'));
  }
  await choice.uncheck();
  await page.getByRole('button', { name: /^Switch to/ }).click();
  await page.getByTestId('show-licences').click();
  await page.getByTestId('licences').getByText('plotters').first().waitFor();
  await page.keyboard.press('Escape');
  await page.getByTestId('licences').waitFor({ state: 'hidden' });
}

async function comparisons(page, folder) {
  const ranks = path.join(folder, 'ranks');
  mkdirSync(ranks, { recursive: true });
  const files = [0, 1, 2].map((rank) => new Job({ base: 0x7f0000000000 + rank * 2 ** 36, activations: 64 + rank }).steps(4).dump(path.join(ranks, `rank${rank}.json`)));
  const chooser = page.waitForEvent('filechooser');
  await page.getByTestId('compare-with').click();
  await (await chooser).setFiles(files[0]);
  await compared(page);
  await page.getByTestId('swap').click();
  await page.getByTestId('compare-card').selectOption({ label: 'T4, 16 GB' });
  await page.getByTestId('compare-cards').locator('li').first().waitFor();
  await copied(page, page.getByRole('button', { name: 'Copy as Markdown' }));
  await choose(page, files[0]);
  await opened(page);
  await page.getByTestId('folder-input').setInputFiles(ranks);
  await compared(page);
  await copied(page, page.getByRole('button', { name: 'Copy as text' }));
  await page.getByTestId('open-full').or(page.getByRole('button', { name: /^Open rank1 in full/ })).first().click();
  await opened(page);
  await page.getByTestId('back').click();
  await compared(page);
}
