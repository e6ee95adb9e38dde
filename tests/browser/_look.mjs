import path from 'node:path';
import { serve } from '../../www/serve.mjs';
import { DIST, launch, opened } from './harness.mjs';
const [scheme, size, file, ...clicks] = process.argv.slice(2);
const [width, height] = size.split('x').map(Number);
const server = await serve(path.join(DIST, 'site'));
const origin = `http://127.0.0.1:${server.address().port}/`;
const browser = await launch();
const context = await browser.newContext({ viewport: { width, height }, colorScheme: scheme, reducedMotion: 'reduce' });
const page = await context.newPage();
page.on('console', (m) => console.log(m.type(), m.text())); page.on('pageerror', (e) => console.log('ERR', String(e)));
page.setDefaultTimeout(60000);
await page.goto(origin);
await page.getByTestId('drop').waitFor();
await page.getByTestId('file-input').setInputFiles(file);
await opened(page);
const tl = page.getByTestId('timeline');
await tl.scrollIntoViewIfNeeded();
let n = 0;
for (const c of clicks) {
  const [verb, arg] = c.split('=');
  if (verb === 'click') await page.getByTestId(arg).click();
  if (verb === 'text') await page.getByText(arg, { exact: false }).first().click();
  if (verb === 'key') await page.keyboard.press(arg);
  if (verb === 'focus') await page.getByTestId(arg).focus();
  if (verb === 'drag') { const [a, b] = arg.split('-').map(Number); const box = await tl.boundingBox(); await page.keyboard.down('Shift'); await page.mouse.move(box.x + a * box.width, box.y + 100); await page.mouse.down(); await page.mouse.move(box.x + (a + b) / 2 * box.width, box.y + 110, {steps: 4}); await page.mouse.move(box.x + b * box.width, box.y + 110, { steps: 4 }); await page.mouse.up(); await page.keyboard.up('Shift'); }
  if (verb === 'hover') { const [a, b] = arg.split('-').map(Number); const box = await tl.boundingBox(); await page.mouse.move(box.x + a * box.width, box.y + b * box.height); }
  if (verb === 'press') { const [a, b] = arg.split('-').map(Number); const box = await tl.boundingBox(); await page.mouse.click(box.x + a * box.width, box.y + b * box.height); }
  if (verb === 'wheel') { const box = await tl.boundingBox(); await page.mouse.move(box.x + Number(arg) * box.width, box.y + 100); await page.mouse.wheel(0, -600); }
  if (verb === 'sel') await page.getByTestId('counted').selectOption(arg);
  if (verb === 'into') await page.getByTestId(arg).scrollIntoViewIfNeeded();
  if (verb === 'url') console.log(page.url());
  if (verb === 'shot') { await page.waitForTimeout(700); await page.screenshot({ path: `/tmp/b/shots/look${n}.png` }); n++; }
  await page.waitForTimeout(250);
}
await browser.close(); server.close();
