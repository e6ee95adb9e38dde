/**
 * Takes the pictures of the documents, the README's first, then those of the questions of docs/walkthrough.md:
 * `node tests/browser/walk.mjs [FOLDER]` after a build (`make pictures`).
 *
 * The recordings come from the fixtures, and from FOLDER what is too large for them; a question whose recording is in
 * neither is left out, and its picture stays as it was.
 */
import { existsSync, mkdirSync } from 'node:fs';
import path from 'node:path';
import { serve } from '../../www/serve.mjs';
import { choose, DIST, launch, opened, ROOT } from './harness.mjs';

const PICTURES = path.join(ROOT, 'docs/pictures');

/** A recording, the picture's name, the steps after the verdict, and the card to be seen. */
const WALKS = [
  ['leak_loss_history', 'leak-line', [], 'verdict'],
  ['leak_loss_history', 'leak-steps', [click('tab-steps')], 'explore'],
  ['leak_loss_history', 'leak-kept', [click('tab-steps'), row('12'), click('tab-stacks')], 'explore'],
  ['fragmentation_varlen_default', 'holes', [click('show-addresses')], 'timeline-card'],
  ['fragmentation_varlen_default', 'pins', [], 'memory-map'],
  ['fragmentation_varlen_default', 'settings', [look('what-if')], 'what-if'],
  ['weights_7b_first_step', 'weights-lines', [click('show-line')], 'timeline-card'],
  ['weights_7b_first_step', 'weights-largest', [click('tab-allocations')], 'explore'],
  ['shape_two_gpus_one_process', 'other-device', [device('cuda:0')], 'timeline-card'],
  ['kv_cache_generate', 'cache-growth', [click('show-heap')], 'timeline-card'],
];

function click(id) {
  return (page) => page.getByTestId(id).click();
}

function row(text) {
  return (page) => page.locator('#panel-steps').getByTestId('rows').getByRole('row').filter({ has: page.getByText(text, { exact: true }) }).first().click();
}

function look(id) {
  return (page) => page.getByTestId(id).scrollIntoViewIfNeeded();
}

function device(label) {
  return (page) => page.getByRole('button', { name: label }).first().click();
}

const folder = process.argv[2];
mkdirSync(PICTURES, { recursive: true });
const server = await serve(path.join(DIST, 'site'));
const browser = await launch();
await verdict();
for (const [recording, name, steps, card] of WALKS) {
  const file = fileOf(recording);
  if (file === null) {
    console.log(`${name}: no recording ${recording}`);
    continue;
  }
  const page = await reportOf(file, 1200, 1500);
  for (const step of steps) {
    await step(page);
    await quiet(page);
  }
  await page.getByTestId(card).scrollIntoViewIfNeeded();
  await quiet(page);
  await page.getByTestId(card).screenshot({ path: path.join(PICTURES, `${name}.png`) });
  console.log(`${name}: ${steps.length} steps`);
  await page.close();
}
await browser.close();
server.closeAllConnections();
server.close();

/** What the README shows: the head of a report. */
async function verdict() {
  const page = await reportOf(fileOf('leak_loss_history'), 1200, 900);
  await quiet(page);
  await page.screenshot({ path: path.join(ROOT, 'docs/verdict.png') });
  console.log('verdict');
  await page.close();
}

async function reportOf(file, width, height) {
  const page = await browser.newPage({ viewport: { width, height }, colorScheme: 'light', reducedMotion: 'reduce' });
  page.setDefaultTimeout(120_000);
  await page.goto(`http://127.0.0.1:${server.address().port}/`);
  await page.getByTestId('drop').waitFor();
  await choose(page, file);
  await opened(page);
  return page;
}

function fileOf(recording) {
  const places = [path.join(ROOT, 'tests/fixtures', `${recording}.pickle.xz`), ...(folder ? [path.join(folder, `${recording}.pickle.xz`), path.join(folder, `${recording}.pickle`)] : [])];
  return places.find(existsSync) ?? null;
}

/** Until nothing has been drawn or asked for a while: pictures are no place for half an answer. */
async function quiet(page) {
  await page.waitForLoadState('networkidle');
  await page.waitForTimeout(1_500);
}
