/** Pictures of the hosted page in target/shots, to look at: two sizes, light and dark, empty and opened. */
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { serve } from '../../www/serve.mjs';
import { DIST, launch, opened, ROOT } from './harness.mjs';

const SIZES = [
  { name: 'desktop', width: 1440, height: 900 },
  { name: 'phone', width: 390, height: 844 },
];

const folder = path.join(ROOT, 'target/shots');
mkdirSync(folder, { recursive: true });
const server = await serve(path.join(DIST, 'site'));
const origin = `http://127.0.0.1:${server.address().port}/`;
const browser = await launch();

for (const { name, width, height } of SIZES) {
  for (const colorScheme of ['light', 'dark']) {
    const context = await browser.newContext({ viewport: { width, height }, colorScheme, reducedMotion: 'reduce' });
    const page = await context.newPage();
    const shot = (what) => page.screenshot({ path: path.join(folder, `${what}-${name}-${colorScheme}.png`) });
    await page.goto(origin);
    await page.getByTestId('drop').waitFor();
    await shot('start');
    await page.getByTestId('sample-leak').click();
    await opened(page);
    await shot('opened');
    await context.close();
  }
}

await browser.close();
server.close();
console.log(`pictures are in ${folder}`);
