/**
 * The content security policies, as the build writes them into the pages and tells servers.
 *
 * What the page needs: its own script, the module that the script compiles, its worker. Styles of
 * the element are constructed style sheets, which no policy stops.
 */

/** Names of the Trusted Types policies: the one that starts the worker, see platform.js. */
const TRUSTED = ["require-trusted-types-for 'script'", 'trusted-types oomscope'];

const NOWHERE = ["base-uri 'none'", "form-action 'none'"];

/** The hosted page asks its own site for its files, the samples and what `?src=` names. */
export const sitePolicy = [
  "default-src 'none'",
  "script-src 'self' 'wasm-unsafe-eval'",
  "style-src 'self'",
  "worker-src 'self'",
  "connect-src 'self'",
  "img-src 'self'",
  ...NOWHERE,
  ...TRUSTED,
].join('; ');

/** The offline page asks nobody. Its script and style are known by their hashes. */
export function offlinePolicy(script, style) {
  return [
    "default-src 'none'",
    `script-src '${script}' 'wasm-unsafe-eval'`,
    `style-src '${style}'`,
    'worker-src blob:',
    "connect-src 'none'",
    'img-src data:',
    ...NOWHERE,
    ...TRUSTED,
  ].join('; ');
}

/**
 * What a server should say with every file of the site, by name. The policy is in the page too; as
 * a header it also holds in the worker, and only there can it say who may frame the page.
 */
export const siteHeaders = {
  'content-security-policy': `${sitePolicy}; frame-ancestors 'self'`,
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
};

/** The offline page is for the disk: under the site's policy its script, which is inside of it, would not run. */
const offlineHeaders = { 'content-disposition': 'attachment' };

const block = (files, headers) => `${files}\n${Object.entries(headers).map(([name, value]) => `  ${name}: ${value}\n`).join('')}`;

/** The headers as the file `_headers`, which several hosts of static sites read. */
export const headersFile = block('/*', siteHeaders) + block('/oomscope.html', offlineHeaders);
