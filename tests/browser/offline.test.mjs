/** The offline page, dist/oomscope.html, from the file system and without a network. */
import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { temporaryFolder, textFile } from './files.mjs';
import { choose, DIST, drop, FIXTURE, opened, setUp, visit } from './harness.mjs';

const folder = temporaryFolder();
const shared = setUp();
const url = pathToFileURL(path.join(DIST, 'oomscope.html')).href;

test('a file opens, and nothing is requested', () =>
  visit(
    shared.browser,
    url,
    async (page, requests) => {
      await choose(page, FIXTURE);
      await opened(page);
      await page.getByTestId('timeline').hover();
      await page.getByTestId('readout').filter({ hasText: /iB/ }).waitFor();
      assert.deepEqual(requests.filter((request) => !/^(blob|data):/.test(request)), [url]);
      assert.ok(await page.getByTestId('samples').isHidden());
    },
    { offline: true },
  ));

test('a bad file shows an error, and the next one opens', () =>
  visit(
    shared.browser,
    url,
    async (page) => {
      await drop(page, textFile(folder));
      await page.getByTestId('error').waitFor();
      await choose(page, FIXTURE);
      await opened(page);
    },
    { offline: true },
  ));
