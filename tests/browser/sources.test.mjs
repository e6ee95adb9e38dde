/** What no source of the page, and nothing that is built of them, may say. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { licences } from '../../www/licences.mjs';
import { DIST, ROOT } from './harness.mjs';

/** Ways in which a text becomes markup or code. */
const FORBIDDEN = [
  /\b(inner|outer)HTML\b/,
  /\binsertAdjacentHTML\b/,
  /\b(set|parse)HTML(Unsafe)?\s*\(/,
  /\bcreateContextualFragment\b/,
  /\bDOMParser\b/,
  /\bsrcdoc\b/,
  /\bdocument\.write(ln)?\b/,
  /\beval\s*\(/,
  /\bnew Function\b/,
  /\bset(Timeout|Interval)\s*\(\s*["'`]/,
  /\bimportScripts\b/,
  /javascript:/,
  /setAttribute\(\s*["'`](style|on\w+)/,
  // Places that outlive the page; remember.js alone writes settings.
  /\b(sessionStorage|indexedDB|document\.cookie|cookieStore|sendBeacon|WebSocket|EventSource|XMLHttpRequest|serviceWorker|WebTransport|RTCPeerConnection)\b/,
];

function files(folder, ending) {
  const found = readdirSync(path.join(ROOT, folder), { recursive: true }).filter((file) => ending.test(file));
  return found.map((file) => path.join(folder, file));
}

const read = (file) => readFileSync(path.join(ROOT, file), 'utf8');

test('no source and no script that is built makes markup or code of a text, or keeps one', () => {
  const sources = files('www', /\.(js|html)$/);
  const built = [...files('dist', /\.(js|html)$/)];
  assert.ok(sources.length > 60 && built.length >= 6, `${sources.length} sources, ${built.length} built`);
  for (const file of [...sources, ...built]) {
    for (const pattern of FORBIDDEN) {
      const found = pattern.exec(read(file));
      assert.equal(found, null, `${file} says “${found?.[0]}”`);
    }
  }
});

test('one source alone writes to the browser’s storage', () => {
  const writing = files('www', /\.js$/).filter((file) => /\blocalStorage\b/.test(read(file)));
  assert.deepEqual(writing, ['www/remember.js']);
});

test('the licences list every part with its text, and ship with each deliverable', () => {
  const { packages, texts } = licences();
  assert.equal(packages[0].name, 'oomscope');
  const names = packages.map(({ name }) => name);
  for (const name of ['Rust standard library', 'plotters', 'serde', 'wasm-bindgen', 'zlib-rs']) {
    assert.ok(names.includes(name), name);
  }
  for (const name of ['clap', 'divan', 'syn', 'serde_derive']) {
    assert.ok(!names.includes(name), `${name} is not in the module`);
  }
  const listed = new Set(texts.map(({ licence }) => licence));
  for (const { name, licence } of packages.slice(1)) {
    assert.ok(licence.split(' and ').every((each) => listed.has(each)), `${name}: ${licence}`);
  }
  assert.ok(texts.every(({ text }) => text.length > 200));
  const copies = ['LICENCES.txt', 'site/LICENCES.txt', 'embed/LICENCES.txt'].map((file) => readFileSync(path.join(DIST, file), 'utf8'));
  assert.ok(copies.every((copy) => copy === copies[0] && names.every((name) => copy.includes(name))));
});
