/**
 * Boots the hosted page: the element, and the file that a link may name in `?src=`.
 *
 * A link comes from anyone, so it may only name a file of this site. The page's policy would stop
 * a request to another one as well, but could not say why.
 */
import './element.js';

const wanted = new URLSearchParams(location.search).get('src');

if (wanted !== null) {
  const url = parsed(wanted);
  if (url?.origin === location.origin) {
    document.querySelector('oom-scope').setAttribute('src', url.href);
  } else {
    const refused = document.getElementById('refused');
    refused.textContent =
      url === null
        ? `The link’s “src=${wanted}” is not an address; it should name a snapshot on this site.`
        : `The link names a snapshot at ${url.host || url.protocol}, but this page only opens files of its own site; download the file and drop it here.`;
    refused.hidden = false;
  }
}

function parsed(text) {
  try {
    return new URL(text, location.href);
  } catch {
    return null;
  }
}
