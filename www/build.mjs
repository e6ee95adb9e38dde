/**
 * Builds the three deliverables from the same sources: dist/site, dist/embed, dist/oomscope.html.
 * The wasm comes from www/wasm.sh.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import * as esbuild from 'esbuild';
import { licences, licencesText } from './licences.mjs';
import { headersFile, offlinePolicy, sitePolicy } from './policy.mjs';
import { SAMPLES, sampleAddress } from './samples.js';
import { filled } from './skeleton.js';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
process.chdir(ROOT);

const WASM = 'target/wasm/pkg/oomscope_bg.wasm';
/** The fixture behind each sample. */
const SAMPLED = {
  resident: 'weights_7b_first_step',
  activations: 'activation_naive_attention',
  fragmentation: 'fragmentation_varlen_default',
  leak: 'leak_loss_history',
  'kv-cache': 'kv_cache_preallocated',
  'cannot-tell': 'shape_never_recorded',
};
const DELIVERABLES = [
  'dist/site/index.html',
  'dist/site/_headers',
  'dist/site/page.css',
  'dist/site/site.js',
  'dist/site/oom-worker.js',
  'dist/site/oomscope_bg.wasm',
  'dist/embed/oom-scope.js',
  'dist/embed/oom-worker.js',
  'dist/embed/oomscope_bg.wasm',
  'dist/oomscope.html',
];

const version = /^version = "(.*)"/m.exec(readFileSync('Cargo.toml', 'utf8'))[1];
const commit = describeCommit();
const wasm = readFileSync(WASM);
/** What the sources may name without importing it. */
const constants = { VERSION: JSON.stringify(version), COMMIT: JSON.stringify(commit) };
const licensed = licences();
const workerText = await bundle('www/worker.js', { format: 'iife' });
// Names this build’s wasm and worker, see platform.js.
const buildId = digest(wasm, workerText).slice(0, 12);
constants.BUILD_ID = JSON.stringify(buildId);

// All but the wheel, which `make wheel` puts there too.
for (const built of ['site', 'embed', 'oomscope.html', 'LICENCES.txt']) {
  rmSync(`dist/${built}`, { recursive: true, force: true });
}
await buildOffline();
await buildSite();
await buildEmbed();
printSizes();

async function buildSite() {
  const script = await bundle('www/site.js');
  const style = readFileSync('www/page.css', 'utf8');
  const html = replaceAll(readFileSync('www/index.html', 'utf8'), {
    '"site.js"': `"site.js?v=${digest(script).slice(0, 12)}"`,
    '"page.css"': `"page.css?v=${digest(style).slice(0, 12)}"`,
    '"oomscope_bg.wasm"': `"oomscope_bg.wasm?v=${buildId}"`,
    POLICY: sitePolicy,
  });
  write('dist/site/index.html', html);
  write('dist/site/page.css', style);
  write('dist/site/site.js', script);
  write('dist/site/oom-worker.js', workerText);
  write('dist/site/oomscope_bg.wasm', wasm);
  write('dist/site/_headers', headersFile);
  write('dist/site/LICENCES.txt', licencesText(licensed));
  cpSync('www/icon.svg', 'dist/site/icon.svg');
  for (const sample of SAMPLES) {
    cpSync(`tests/fixtures/${SAMPLED[sample.file]}.pickle.xz`, path.join('dist/site', sampleAddress('samples', sample)));
  }
  cpSync('dist/oomscope.html', 'dist/site/oomscope.html');
}

async function buildEmbed() {
  write('dist/embed/oom-scope.js', await bundle('www/element.js'));
  write('dist/embed/oom-worker.js', workerText);
  write('dist/embed/oomscope_bg.wasm', wasm);
  write('dist/embed/LICENCES.txt', licencesText(licensed));
  cpSync('dist/oomscope.html', 'dist/embed/oomscope.html');
  for (const file of ['README.md', 'oom-scope.d.ts']) {
    cpSync(`www/embed/${file}`, `dist/embed/${file}`);
  }
  for (const file of ['LICENSE-APACHE', 'LICENSE-MIT']) {
    cpSync(file, `dist/embed/${file}`);
  }
  const manifest = JSON.parse(readFileSync('www/embed/package.json', 'utf8'));
  write('dist/embed/package.json', `${JSON.stringify({ ...manifest, version, gitHead: commit }, null, 2)}\n`);
}

/** The hosted page with everything inside and nothing to fetch. */
async function buildOffline() {
  const skeleton = offlineSkeleton();
  const script = inScriptElement(await bundle('www/offline.js', { plugins: [offline(skeleton)] }));
  const style = readFileSync('www/page.css', 'utf8');
  const policy = offlinePolicy(integrity(script), integrity(style));
  const packed = gzipSync(wasm, { level: 9 }).toString('base64');
  write('dist/LICENCES.txt', licencesText(licensed));
  write('dist/oomscope.html', filled(skeleton, { policy, style, wasm: packed, script }));
}

/** The offline page without its pieces. */
function offlineSkeleton() {
  const page = readFileSync('www/index.html', 'utf8');
  const icon = `data:image/svg+xml;base64,${readFileSync('www/icon.svg', 'base64')}`;
  // The data comes before the script that reads it, and the snapshot first, for it is looked for by name.
  const scripts = [
    '<script type="application/octet-stream" id="oomscope-snapshot"></script>',
    '<script type="application/gzip" id="oomscope-wasm">{wasm}</script>',
    '<script type="module" id="oomscope-script">{script}</script>',
  ];
  return replaceAll(page, {
    POLICY: '{policy}',
    'href="icon.svg"': `href="${icon}"`,
    '<link rel="stylesheet" href="page.css">': '<style id="oomscope-style">{style}</style>',
    '<link rel="preload" href="oomscope_bg.wasm" as="fetch" type="application/wasm" crossorigin>\n': '',
    '<script type="module" src="site.js"></script>\n': '',
    ' samples="samples/"': '',
    '</body>': `${scripts.join('\n')}\n</body>`,
  });
}

async function bundle(entry, options = {}) {
  const result = await esbuild.build({
    absWorkingDir: ROOT,
    entryPoints: [entry],
    bundle: true,
    format: 'esm',
    minify: true,
    charset: 'utf8',
    target: ['chrome91', 'firefox89', 'safari16.4'],
    loader: { '.css': 'text' },
    define: constants,
    banner: { js: `/*! oomscope ${version}${commit && ` (${commit})`} */` },
    write: false,
    ...options,
    plugins: [licencesModule(), ...(options.plugins ?? [])],
  });
  return result.outputFiles[0].text;
}

/** What `licences` exports, as the module of that name. */
function licencesModule() {
  return {
    name: 'licences',
    setup(build) {
      build.onResolve({ filter: /^licences$/ }, () => ({ path: 'licences', namespace: 'licences' }));
      build.onLoad({ filter: /.*/, namespace: 'licences' }, () => ({ contents: JSON.stringify(licensed), loader: 'json' }));
    },
  };
}

/** Puts platform-offline.js in the place of platform.js, and the worker’s text and the page’s skeleton into it. */
function offline(skeleton) {
  const texts = { 'worker-text': workerText, 'page-skeleton': skeleton };
  return {
    name: 'offline',
    setup(build) {
      build.onResolve({ filter: /\/platform\.js$/ }, () => ({ path: path.resolve('www/platform-offline.js') }));
      build.onResolve({ filter: /^(worker-text|page-skeleton)$/ }, ({ path: name }) => ({ path: name, namespace: 'built' }));
      build.onLoad({ filter: /.*/, namespace: 'built' }, ({ path: name }) => ({ contents: texts[name], loader: 'text' }));
    },
  };
}

/** What would end the element, or change how it is read, written so that it means the same in JavaScript. */
function inScriptElement(script) {
  return script.replaceAll(/<(?=!--|\/?script)/gi, '\\x3C');
}

function replaceAll(text, replacements) {
  for (const [from, to] of Object.entries(replacements)) {
    if (text.split(from).length !== 2) {
      throw new Error(`index.html should hold ${from} once`);
    }
    text = text.replace(from, () => to);
  }
  return text;
}

function digest(...parts) {
  const hash = createHash('sha256');
  parts.forEach((part) => hash.update(part));
  return hash.digest('hex');
}

function integrity(text) {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`;
}

function describeCommit() {
  try {
    return execFileSync('git', ['describe', '--always', '--dirty', '--tags'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  } catch {
    // An archive without its history, or nothing committed yet.
    return '';
  }
}

function write(file, content) {
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, content);
}

function printSizes() {
  console.log(`oomscope ${version} ${commit}`);
  for (const file of DELIVERABLES) {
    const packed = gzipSync(readFileSync(file)).length;
    console.log(`${kib(statSync(file).size)} ${kib(packed)} gzipped  ${file}`);
  }
}

function kib(bytes) {
  return `${(bytes / 1024).toFixed(1)} KiB`.padStart(12);
}
