/**
 * Opens each file named on the command line in the hosted page, three times in a fresh browser, and prints medians:
 * from choosing it until it is read, until the verdict is there and until its timeline is drawn, and the renderer's
 * peak resident memory (Linux only). Of a folder, it is the time to the comparison of all its files. First of all, how
 * long the page takes to be of use.
 */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { serve } from '../../www/serve.mjs';
import { choose, compared, DIST, launch, opened } from './harness.mjs';

const TURNS = 3;

const server = await serve(path.join(DIST, 'site'));
const origin = `http://127.0.0.1:${server.address().port}/`;
const starts = await turnsOf(async (page) => page.evaluate(() => globalThis.usable));
console.log(`the page is of use after ${seconds(median(starts))}`);
for (const file of process.argv.slice(2)) {
  const turns = await turnsOf((page, browser) => measure(page, browser, file));
  const of = (key) => median(turns.map((turn) => turn[key]));
  const steps = statSync(file).isDirectory() ? [] : [`read ${seconds(of('read'))}`, `verdict ${seconds(of('verdict'))}`];
  console.log(`${path.basename(file)}, ${(sizeOf(file) / 1e6).toFixed(0)} MB: ${[...steps, `drawn ${seconds(of('drawn'))}`].join(', ')}; ${of('mebibytes').toFixed(0)} MiB`);
}
server.closeAllConnections();
server.close();

async function turnsOf(turn) {
  const turns = [];
  while (turns.length < TURNS) {
    const browser = await launch();
    const page = await browser.newPage();
    page.setDefaultTimeout(300_000);
    await page.addInitScript(watch);
    await page.goto(origin);
    await page.getByTestId('drop').waitFor();
    await page.waitForFunction(() => globalThis.usable > 0);
    turns.push(await turn(page, browser));
    await browser.close();
  }
  return turns;
}

/** In the page: when the worker has its module, and when it answers the first request. Milliseconds. */
function watch() {
  globalThis.usable = 0;
  const Original = globalThis.Worker;
  globalThis.Worker = class extends Original {
    constructor(...given) {
      super(...given);
      this.addEventListener('message', ({ data }) => {
        if (data.progress) {
          globalThis.read = performance.now();
        } else {
          globalThis.verdict ??= performance.now();
        }
      });
    }

    postMessage(message, ...rest) {
      if (message.module) {
        globalThis.usable = performance.now();
      } else {
        globalThis.asked ??= performance.now();
      }
      super.postMessage(message, ...rest);
    }
  };
}

async function measure(page, browser, file) {
  const begin = performance.now();
  if (statSync(file).isDirectory()) {
    await page.getByTestId('folder-input').setInputFiles(file);
    await compared(page);
  } else {
    await choose(page, file);
    await opened(page);
  }
  const drawn = performance.now() - begin;
  const { read, verdict } = await page.evaluate(() => ({ read: globalThis.read - globalThis.asked, verdict: globalThis.verdict - globalThis.asked }));
  const session = await browser.newBrowserCDPSession();
  const { processInfo } = await session.send('SystemInfo.getProcessInfo');
  const renderers = processInfo.filter((process) => process.type === 'renderer').map((process) => peakOf(process.id));
  return { read, verdict, drawn, mebibytes: Math.max(...renderers) };
}

function seconds(milliseconds) {
  return `${(milliseconds / 1000).toFixed(2)} s`;
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
