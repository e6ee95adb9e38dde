/**
 * Prints, for each file named on the command line, what moving about its timeline costs: the page's script time for a
 * frame of zooming and panning and for a read-out under the pointer, and how long the worker takes to answer. Drawing
 * by the browser is not counted: here it is done in software.
 */
import path from 'node:path';
import { serve } from '../../www/serve.mjs';
import { choose, DIST, launch, opened } from './harness.mjs';

const MOVES = 40;

const server = await serve(path.join(DIST, 'site'));
const origin = `http://127.0.0.1:${server.address().port}/`;
const browser = await launch();
for (const file of process.argv.slice(2)) {
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
  page.setDefaultTimeout(300_000);
  await page.addInitScript(watchWorkers);
  await page.goto(origin);
  await page.getByTestId('drop').waitFor();
  await choose(page, file);
  await opened(page);
  await page.getByTestId('timeline').scrollIntoViewIfNeeded();
  const { x, y, width } = await page.getByTestId('timeline').boundingBox();
  const cdp = await page.context().newCDPSession(page);
  await cdp.send('Performance.enable');
  console.log(`${path.basename(file)}: milliseconds of script a zoom, a pan, a read-out; of the worker's answers (median, longest)`);
  for (const picture of ['category', 'line', 'heap', 'addresses']) {
    await page.getByTestId(`show-${picture}`).click();
    await settled(page);
    await page.evaluate(() => globalThis.answers.splice(0));
    const zoom = await cost(page, cdp, async (nth) => {
      await page.mouse.move(x + 0.4 * width, y + 120);
      await page.mouse.wheel(0, nth < MOVES / 2 ? -120 : 120);
    });
    await page.keyboard.press('0');
    await settled(page);
    for (let nth = 0; nth < 5; nth += 1) {
      await page.keyboard.press('w');
    }
    const pan = await cost(page, cdp, (nth) => page.keyboard.press(nth % 2 === 0 ? 'd' : 'a'));
    await settled(page);
    const answers = await page.evaluate(() => globalThis.answers.splice(0).filter(({ kind }) => kind === 'timeline').map(({ ms }) => ms));
    const read = await cost(page, cdp, (nth) => page.mouse.move(x + (0.2 + nth / 80) * width, y + 140));
    await page.keyboard.press('0');
    const sorted = answers.sort((a, b) => a - b);
    const told = [zoom, pan, read, sorted[Math.floor(sorted.length / 2)], sorted.at(-1)].map((ms) => ms.toFixed(1).padStart(6));
    console.log(`  ${picture.padEnd(10)} ${told.join(' ')}`);
  }
  await page.close();
}
await browser.close();
server.closeAllConnections();
server.close();

/** Script milliseconds of the page for one of `MOVES` moves, each in a frame of its own. */
async function cost(page, cdp, move) {
  const scripted = async () => {
    const { metrics } = await cdp.send('Performance.getMetrics');
    return metrics.find(({ name }) => name === 'ScriptDuration').value * 1000;
  };
  const before = await scripted();
  for (let nth = 0; nth < MOVES; nth += 1) {
    await move(nth);
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  }
  return ((await scripted()) - before) / MOVES;
}

/** Until the worker owes no answer. */
function settled(page) {
  return page.waitForFunction(() => globalThis.owed === 0 && performance.now() - globalThis.answered > 100);
}

/** In the page: notes how long each request to a worker takes. */
function watchWorkers() {
  globalThis.answers = [];
  globalThis.owed = 0;
  globalThis.answered = 0;
  const post = Worker.prototype.postMessage;
  Worker.prototype.postMessage = function (message, ...rest) {
    if (message?.id !== undefined) {
      const sent = performance.now();
      globalThis.owed += 1;
      const hear = ({ data }) => {
        if (data.id === message.id && !data.progress) {
          this.removeEventListener('message', hear);
          globalThis.answered = performance.now();
          globalThis.owed -= 1;
          globalThis.answers.push({ kind: message.kind, ms: globalThis.answered - sent });
        }
      };
      this.addEventListener('message', hear);
    }
    return post.call(this, message, ...rest);
  };
}
