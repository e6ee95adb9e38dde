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

/// The highest value of each total: that at the start where no entry is higher.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Peaks {
    /// Of [`Usage::requested`].
    pub requested: Peak,
    /// Of [`Usage::allocated`].
    pub allocated: Peak,
    /// Of [`Usage::active`].
    pub active: Peak,
    /// Of [`Usage::reserved`].
    pub reserved: Peak,
}

impl Peaks {
    pub(super) fn from(start: Usage) -> Peaks {
        let at_start = |bytes| Peak { entry: 0, bytes };
        Peaks {
            requested: at_start(start.requested),
            allocated: at_start(start.allocated),
            active: at_start(start.active),
            reserved: at_start(start.reserved),
        }
    }

    pub(super) fn see(&mut self, entry: u32, usage: &Usage) {
        for (peak, bytes) in [
            (&mut self.requested, usage.requested),
            (&mut self.allocated, usage.allocated),
            (&mut self.active, usage.active),
            (&mut self.reserved, usage.reserved),
        ] {
            if bytes > peak.bytes {
                *peak = Peak { entry, bytes };
            }
        }
    }
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
}
