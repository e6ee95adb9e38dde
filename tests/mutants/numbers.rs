//! Numbers that look random and are the same each time.

/// Marsaglia's xorshift.
#[derive(Clone)]
pub(crate) struct Numbers(u64);

impl Numbers {
    /// The numbers of `seed`; neighbouring seeds have nothing in common.
    pub(crate) fn new(seed: u64) -> Self {
        // The end of splitmix64.
        let mixed = (seed.wrapping_add(0x9e37_79b9_7f4a_7c15) ^ seed.rotate_left(31))
            .wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        Numbers((mixed ^ (mixed >> 31)).max(1))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A number below `bound`, which is not 0.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        (self.next() >> 11) % bound
    }

    /// A place in something of `len` items, which is not empty.
    pub(crate) fn place(&mut self, len: usize) -> usize {
        self.below(len as u64) as usize
    }

    /// One of `choices`, which are not empty.
    pub(crate) fn pick<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.place(choices.len())]
    }

    /// The same for what is copied.
    pub(crate) fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        *self.pick(choices)
    }
}
