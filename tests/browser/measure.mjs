/**
 * Opens each file named on the command line in the hosted page, three times in a fresh browser, and prints the median
 * time from choosing it to its drawn timeline, and the renderer's peak resident memory (Linux only). Of a folder, it is
 * the time to the comparison of all its files.
 */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { serve } from '../../www/serve.mjs';
import { choose, compared, DIST, launch, opened } from './harness.mjs';

const TURNS = 3;

const server = await serve(path.join(DIST, 'site'));
const origin = `http://127.0.0.1:${server.address().port}/`;
for (const file of process.argv.slice(2)) {
  const turns = [];
  for (let turn = 0; turn < TURNS; turn += 1) {
    turns.push(await measure(file));
  }
  const seconds = median(turns.map((turn) => turn.seconds));
  const mebibytes = median(turns.map((turn) => turn.mebibytes));
  const size = sizeOf(file) / 1e6;
  console.log(`${path.basename(file)}: ${size.toFixed(0)} MB, ${seconds.toFixed(2)} s, ${mebibytes.toFixed(0)} MiB`);
}
server.closeAllConnections();
server.close();

async function measure(file) {
  const browser = await launch();
  try {
    const page = await browser.newPage();
    page.setDefaultTimeout(300_000);
    await page.goto(origin);
    await page.getByTestId('drop').waitFor();
    const begin = performance.now();
    if (statSync(file).isDirectory()) {
      await page.getByTestId('folder-input').setInputFiles(file);
      await compared(page);
    } else {
      await choose(page, file);
      await opened(page);
    }
    const seconds = (performance.now() - begin) / 1000;
    const session = await browser.newBrowserCDPSession();
    const { processInfo } = await session.send('SystemInfo.getProcessInfo');
    const renderers = processInfo.filter((process) => process.type === 'renderer').map((process) => peakOf(process.id));
    return { seconds, mebibytes: Math.max(...renderers) };
  } finally {
    await browser.close();
  }
}

function sizeOf(file) {
  const { size } = statSync(file);
  const isFolder = statSync(file).isDirectory();
  return isFolder ? readdirSync(file).reduce((sum, name) => sum + sizeOf(path.join(file, name)), 0) : size;
}

/** The most memory that a process ever held, in MiB. */
function peakOf(pid) {
  const line = readFileSync(`/proc/${pid}/status`, 'utf8').match(/VmHWM:\s+(\d+) kB/);
  return Number(line?.[1] ?? 0) / 1024;
}

function median(numbers) {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)];
}
