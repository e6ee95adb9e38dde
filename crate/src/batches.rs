//! Long loops, in a form that browsers run fast.
//!
//! A browser begins to run a module in code that it made in haste, and takes up the better code for a
//! function only when that is called again. A loop over millions of entries that stays within one
//! call stays slow, three to five times as slow as it could be; so it is cut into many calls.

/// Turns within one call: few enough to take up better code soon, enough for calls not to count.
const BATCH: u32 = 4096;

/// Calls `each` for every item, in order.
pub(crate) fn for_each<I: Iterator>(mut items: I, mut each: impl FnMut(I::Item)) {
    while batch(&mut items, &mut each) {}
}

/// One batch; false once the items are at their end.
#[inline(never)]
fn batch<I: Iterator>(items: &mut I, each: &mut impl FnMut(I::Item)) -> bool {
    for _ in 0..BATCH {
        match items.next() {
            Some(item) => each(item),
            None => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_item_comes_once_and_in_order() {
        for count in [0, 1, BATCH - 1, BATCH, BATCH + 1, 3 * BATCH] {
            let mut seen = Vec::new();
            for_each(0..count, |item| seen.push(item));
            assert_eq!(seen, (0..count).collect::<Vec<u32>>());
        }
    }
}
