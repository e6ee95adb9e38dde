/** The embed, from dist/embed, in a page such as a documentation tool makes. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { test } from 'node:test';
import { hostileNames, temporaryFolder } from './files.mjs';
import { DIST, FIXTURE, opened, ROOT, setUp, shownRange, visit } from './harness.mjs';

const folder = temporaryFolder();
const shared = setUp(folder);

cpSync(path.join(DIST, 'embed'), path.join(folder, 'static/oomscope'), { recursive: true });
cpSync(FIXTURE, path.join(folder, 'static/varlen.pickle.xz'));
hostileNames(path.join(folder, 'static'));
mkdirSync(path.join(folder, 'guide'));
writeFileSync(
  path.join(folder, 'guide/memory.html'),
  `<!doctype html>
<title>Memory</title>
<link rel="icon" href="data:,">
<script type="module" src="../static/oomscope/oom-scope.js"></script>
<h1>Memory</h1>
<oom-scope id="first" src="../static/varlen.pickle.xz" style="display: block; height: 700px"></oom-scope>
<oom-scope id="second" src="../static/names.pickle" style="display: block; height: 700px"></oom-scope>
`,
);

test('two embeds on one page keep to themselves', () =>
  visit(shared.browser, `${shared.origin}/guide/memory.html`, async (page) => {
    const first = page.locator('#first');
    const second = page.locator('#second');
    await opened(first);
    await opened(second);
    await second.getByTestId('lines').filter({ hasText: 'onerror' }).waitFor();
    assert.equal(await first.getByTestId('lines').filter({ hasText: 'onerror' }).count(), 0);

    const [whole, others] = [await shownRange(first), await shownRange(second)];
    await first.getByTestId('timeline').hover();
    await page.keyboard.down('Control');
    await page.mouse.wheel(0, -400);
    await page.keyboard.up('Control');
    await first.locator(`[data-test=timeline]:not([data-end="${whole.end}"])`).waitFor();
    assert.deepEqual(await shownRange(second), others);
  }));

test('an element that leaves the page ends its worker', () =>
  visit(shared.browser, `${shared.origin}/guide/memory.html`, async (page) => {
    await opened(page.locator('#first'));
    await opened(page.locator('#second'));
    assert.equal(page.workers().length, 2);
    const ended = page.workers().map((worker) => worker.waitForEvent('close'));
    await page.evaluate(() => document.querySelectorAll('oom-scope').forEach((element) => element.remove()));
    await Promise.all(ended);
  }));

test('the package is packed, installed into a project and imported', async () => {
  const project = path.join(folder, 'project');
  mkdirSync(project);
  writeFileSync(path.join(project, 'package.json'), '{ "name": "project", "private": true }');
  const npm = (...args) => execFileSync('npm', args, { cwd: project, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] }).trim();
  const archive = npm('pack', '--silent', path.join(DIST, 'embed'));
  npm('install', '--offline', '--no-audit', '--no-fund', `./${archive}`);
  const { resolve } = createRequire(path.join(project, 'index.js'));
  const script = path.relative(project, resolve('oomscope'));
  const version = /^version = "(.*)"/m.exec(readFileSync(path.join(ROOT, 'Cargo.toml'), 'utf8'))[1];
  assert.equal(JSON.parse(readFileSync(resolve('oomscope/package.json'), 'utf8')).version, version);
  writeFileSync(
    path.join(project, 'index.html'),
    `<!doctype html>
<title>Project</title>
<link rel="icon" href="data:,">
<script type="importmap">{ "imports": { "oomscope": "./${script}" } }</script>
<script type="module">import 'oomscope';</script>
<oom-scope src="../static/varlen.pickle.xz"></oom-scope>
`,
  );
  await visit(shared.browser, `${shared.origin}/project/`, async (page) => {
    await opened(page);
    const told = await page.evaluate(() => customElements.get('oom-scope').version);
    assert.equal(told, version);
    const saving = page.waitForEvent('download');
    await page.getByTestId('save-page').click();
    assert.equal((await saving).suggestedFilename(), 'varlen.html');
  });
});
