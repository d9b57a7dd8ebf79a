//! Numbers that look random, and are the same for the same seed.

use jiff::SignedDuration;

/// The generator known as `SplitMix64`.
#[derive(Debug, Clone)]
pub(super) struct Chance(u64);

impl Chance {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x0e61_9e5e)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// From 0 to so much, both included.
    pub(super) fn up_to(&mut self, most: u64) -> u64 {
        self.next() % (most + 1)
    }

    /// Whether something happens that happens so often in a thousand times.
    pub(super) fn per_mille(&mut self, often: u64) -> bool {
        often > 0 && self.up_to(999) < often
    }

    /// A span between two numbers of milliseconds.
    pub(super) fn millis(&mut self, least: u64, most: u64) -> SignedDuration {
        let millis = least + self.up_to(most - least);
        SignedDuration::from_millis(i64::try_from(millis).unwrap())
    }

    /// One of these.
    pub(super) fn of<'a, T>(&mut self, these: &'a [T]) -> &'a T {
        &these[usize::try_from(self.next() % these.len() as u64).unwrap()]
    }
}
