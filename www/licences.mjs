/**
 * The licences of everything that ships: the crates linked into the module, from cargo's metadata
 * and the licence files in their packages. Of npm's packages none ships; they build and test.
 */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

/** The licences that we take, the first of those offered, with the files that hold their text. */
const TAKEN = new Map([
  ['MIT', /^(licen[cs]e-mit|licen[cs]e)(\.md|\.txt)?$/i],
  ['MIT-0', /^license-mit0(\.md|\.txt)?$/i],
  ['Zlib', /^(license-zlib|license)(\.md|\.txt)?$/i],
  ['Unicode-3.0', /^license-unicode(\.md|\.txt)?$/i],
  ['Apache-2.0', /^(license-apache|license)(\.md|\.txt)?$/i],
]);

/** Shorter than any licence: a link to one that the package forgot. */
const NO_TEXT = 200;

/** The standard library is linked too, but is no package. */
const STANDARD = { name: 'Rust standard library', version: '', licence: 'MIT', holders: 'Copyright (c) The Rust Project Contributors' };

/**
 * @returns {{packages: {name: string, version: string, licence: string, holders: string}[], texts: {licence: string, text: string}[]}}
 * the project itself first, then its parts by name; each text once, without its holders
 */
export function licences() {
  const metadata = JSON.parse(cargo('metadata', '--format-version', '1', '--locked', '--filter-platform', 'wasm32-unknown-unknown'));
  const texts = new Map();
  const packages = linked(metadata).map((each) => {
    const folder = path.dirname(each.manifest_path);
    const found = chosen(each).map((licence) => ({ licence, ...split(licence, textOf(each, folder, licence)) }));
    found.forEach(({ licence, body }) => texts.set(spaced(body), { licence, text: body }));
    return {
      name: each.name,
      version: each.version,
      licence: found.map(({ licence }) => licence).join(' and '),
      holders: found.map(({ holders }) => holders).filter(Boolean).join('; ') || each.authors.map((author) => author.replace(/ *<.*>/, '')).join(', '),
    };
  });
  const own = metadata.packages.find(({ name }) => name === 'oomscope');
  const { holders } = split('MIT', readFileSync('LICENSE-MIT', 'utf8'));
  return {
    packages: [{ name: own.name, version: own.version, licence: own.license, holders }, STANDARD, ...packages],
    texts: [...texts.values()].sort((a, b) => compare(a.licence, b.licence) || compare(a.text, b.text)),
  };
}

/** The same as a file. */
export function licencesText({ packages, texts }) {
  const parts = packages.map(({ name, version, licence, holders }) => [`${name} ${version}`.trim(), `  ${licence}`, holders && `  ${holders}`].filter(Boolean).join('\n'));
  const rule = '-'.repeat(80);
  return `${parts.join('\n\n')}\n${texts.map(({ licence, text }) => `\n${rule}\n${licence}\n\n${text}\n`).join('')}`;
}

/** The packages linked into the module, by name: what is needed to build them only, or runs in the compiler, is none. */
function linked({ packages, resolve }) {
  const byId = new Map(packages.map((each) => [each.id, each]));
  const nodes = new Map(resolve.nodes.map((node) => [node.id, node]));
  const isMacro = (each) => each.targets.some(({ kind }) => kind.includes('proc-macro'));
  const root = packages.find(({ name }) => name === 'oomscope').id;
  const reached = new Set([root]);
  for (const id of reached) {
    for (const { pkg, dep_kinds: kinds } of nodes.get(id).deps) {
      if (kinds.some(({ kind }) => kind === null) && !isMacro(byId.get(pkg))) {
        reached.add(pkg);
      }
    }
  }
  reached.delete(root);
  return [...reached].map((id) => byId.get(id)).sort((a, b) => compare(a.name, b.name) || compare(a.version, b.version));
}

/** Of the licences that a package offers, those that we take: one of each choice. */
function chosen({ name, license }) {
  return (license ?? '').split(' AND ').map((choice) => {
    const offered = choice.replace(/[()]/g, '').split(/ OR |\//);
    const taken = [...TAKEN.keys()].find((licence) => offered.includes(licence));
    if (taken === undefined) {
      throw new Error(`${name} comes under “${license}”, of which www/licences.mjs takes none`);
    }
    return taken;
  });
}

function textOf({ name }, folder, licence) {
  // A file that names the licence goes before one that is merely called LICENSE.
  const files = readdirSync(folder).filter((file) => TAKEN.get(licence).test(file)).sort((a, b) => b.length - a.length || compare(a, b));
  if (files.length === 0) {
    throw new Error(`${name} has no text of ${licence} in its package`);
  }
  const text = readFileSync(path.join(folder, files[0]), 'utf8').replaceAll('\r\n', '\n').trim();
  // Of the licences that we take, all of MIT say the same.
  return text.length < NO_TEXT && licence === 'MIT' ? split('MIT', readFileSync('LICENSE-MIT', 'utf8')).body : text;
}

/** Who holds the rights, and the licence without them, for that is the same for many. */
function split(licence, text) {
  if (licence === 'Apache-2.0') {
    return { holders: '', body: text };
  }
  const lines = text.split('\n');
  const isHolder = (line) => /^\s*(copyright\b.*(\d{4}|\(c\)|©)|\(c\) \d{4})/i.test(line);
  const begin = lines.findIndex((line) => /permission is hereby granted|provided ['‘]as-is['’]|^permission/i.test(line));
  const head = lines.slice(0, Math.max(begin, 0));
  return {
    holders: head.filter(isHolder).map((line) => line.trim().replace(/\.$/, '')).join(', '),
    body: lines.slice(Math.max(begin, 0)).join('\n').trim(),
  };
}

const spaced = (text) => text.replace(/\s+/g, ' ');

/** Not by the locale of whoever builds. */
const compare = (a, b) => (a < b ? -1 : Number(a > b));

function cargo(...args) {
  return execFileSync('cargo', args, { encoding: 'utf8', maxBuffer: 2 ** 28, stdio: ['ignore', 'pipe', 'inherit'] });
}
