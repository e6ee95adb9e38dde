/** When somebody looks: what takes a while is asked for then. */

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
    { rootMargin: '200px' },
  );
  sight.observe(element);
  signal.addEventListener('abort', () => sight.disconnect());
  return () => was;
}
