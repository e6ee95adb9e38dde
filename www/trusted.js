/**
 * The one script address that is made at run time, for pages that require Trusted Types. The policy
 * does not leave this module, so nobody else can make an address pass by it.
 */

let policy = null;

/** The address of the worker, for its constructor. */
export function workerAddress(url) {
  if (typeof trustedTypes === 'undefined') {
    return url;
  }
  policy ??= trustedTypes.createPolicy('oomscope', { createScriptURL: (address) => address });
  return policy.createScriptURL(String(url));
}
