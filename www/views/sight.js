/** When somebody looks: what takes a while is asked for then. */

/** Half a view away, of the page or of an element that scrolls by itself, where a browser knows that. */
export const NEAR = { rootMargin: '50% 0px', scrollMargin: '50% 0px' };

/**
 * Calls `seen` once, when the element first comes near the view; hidden ones never do. Returns
 * whether that has been.
 */
export function onSight(element, seen, signal) {
  let was = false;
  const sight = new IntersectionObserver(
    (changes) => {
      if (!was && changes.some((change) => change.isIntersecting)) {
        was = true;
        sight.disconnect();
        seen();
      }
    },
    NEAR,
  );
  sight.observe(element);
  signal.addEventListener('abort', () => sight.disconnect());
  return () => was;
}
