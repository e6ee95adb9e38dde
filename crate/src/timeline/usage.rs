//! The four totals of a device, at one moment and at every entry.

/// Totals of one moment, in bytes. `requested` ≤ `allocated` ≤ `active` ≤ `reserved`.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Usage {
    /// What the program asked for and holds.
    pub requested: u64,
    /// The blocks that it holds.
    pub allocated: u64,
    /// Those, and the blocks that it released but another stream still awaits.
    pub active: u64,
    /// What was obtained from the driver.
    pub reserved: u64,
}

impl Usage {
    /// Reserved bytes that no active block holds.
    #[must_use]
    pub fn idle(&self) -> u64 {
        self.reserved.saturating_sub(self.active)
    }
}

/// The highest value of one total.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Peak {
    /// The first entry after which it stood so high.
    pub entry: u32,
    /// How high.
    pub bytes: u64,
}

/// Totals after each entry, a column each.
#[derive(Clone, Debug, Default)]
pub struct UsageColumns {
    /// See [`Usage::requested`].
    pub requested: Vec<u64>,
    /// See [`Usage::allocated`].
    pub allocated: Vec<u64>,
    /// See [`Usage::active`].
    pub active: Vec<u64>,
    /// See [`Usage::reserved`].
    pub reserved: Vec<u64>,
}

impl UsageColumns {
    pub(super) fn with_capacity(entries: usize) -> Self {
        UsageColumns {
            requested: Vec::with_capacity(entries),
            allocated: Vec::with_capacity(entries),
            active: Vec::with_capacity(entries),
            reserved: Vec::with_capacity(entries),
        }
    }

    pub(super) fn push(&mut self, usage: Usage) {
        self.requested.push(usage.requested);
        self.allocated.push(usage.allocated);
        self.active.push(usage.active);
        self.reserved.push(usage.reserved);
    }

    /// The totals after `entry`; `None` past the end.
    #[must_use]
    pub fn get(&self, entry: usize) -> Option<Usage> {
        Some(Usage {
            requested: *self.requested.get(entry)?,
            allocated: *self.allocated.get(entry)?,
            active: *self.active.get(entry)?,
            reserved: *self.reserved.get(entry)?,
        })
    }

    /// The highest value of a column, or `start` where no entry is higher.
    #[must_use]
    pub fn peak(column: &[u64], start: u64) -> Peak {
        let mut peak = Peak { entry: 0, bytes: start };
        for (entry, bytes) in (0..).zip(column) {
            if *bytes > peak.bytes {
                peak = Peak { entry, bytes: *bytes };
            }
        }
        peak
    }
}
