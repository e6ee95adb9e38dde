/** The embed in sites that MkDocs and Sphinx built, as its README says, with two snapshots on a page. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from './files.mjs';
import { DIST, opened, ROOT, setUp, visit } from './harness.mjs';

const folder = temporaryFolder();
const shared = setUp(folder);
const source = (site) => path.join(folder, `${site}-source`);
const tool = (name, ...given) => execFileSync(path.join(ROOT, 'target/sites/bin', name), given, { stdio: ['ignore', 'pipe', 'pipe'] });

/** Copies a site's source, the embed and two snapshots to where its README wants them. */
function prepare(site, embed, snapshots) {
  cpSync(path.join(ROOT, 'tests/browser/sites', site), source(site), { recursive: true });
  cpSync(path.join(DIST, 'embed'), path.join(source(site), embed), { recursive: true });
  cpSync(path.join(ROOT, 'www/icon.svg'), path.join(source(site), snapshots, 'icon.svg'));
  for (const [name, fixture] of [['first', 'fragmentation_varlen_default'], ['second', 'fragmentation_varlen_expandable']]) {
    cpSync(path.join(ROOT, `tests/fixtures/${fixture}.pickle.xz`), path.join(source(site), snapshots, `${name}.pickle.xz`));
  }
}

async function bothOpen(page) {
  assert.match(await opened(page.locator('#first')), /holes too small/);
  assert.match(await opened(page.locator('#second')), /\S/);
  const heights = await page.locator('oom-scope').evaluateAll((elements) => elements.map((element) => element.clientHeight));
  assert.deepEqual(heights, [640, 640]);
}

test('a site of MkDocs', async () => {
  prepare('mkdocs', 'docs/oomscope', 'docs/snapshots');
  tool('mkdocs', 'build', '--quiet', '--config-file', path.join(source('mkdocs'), 'mkdocs.yml'), '--site-dir', path.join(folder, 'mkdocs'));
  await visit(shared.browser, `${shared.origin}/mkdocs/memory/`, bothOpen);
});

test('a site of Sphinx', async () => {
  prepare('sphinx', '_static/oomscope', '_static');
  tool('sphinx-build', '-q', source('sphinx'), path.join(folder, 'sphinx'));
  await visit(shared.browser, `${shared.origin}/sphinx/`, bothOpen);
});
