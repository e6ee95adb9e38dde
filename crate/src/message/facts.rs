//! The numbers of one message, and what follows from them by sums alone.

use serde::Serialize;

/// A quantity that a message states.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Field {
    /// What was asked for.
    Requested,
    /// The device's memory.
    Capacity,
    /// What the driver had left.
    Free,
    /// All memory of this process on the device.
    Process,
    /// What live tensors take.
    Allocated,
    /// What the allocator holds, used or idle.
    Reserved,
    /// What the allocator holds idle.
    Unallocated,
    /// What it holds idle in private pools.
    PrivatePool,
    /// The limit set on it.
    Allowed,
    /// Memory of the process outside the allocator (MPS).
    OtherAllocations,
    /// Live blocks and those that wait for another stream (NPU).
    Active,
}

/// Another process on the device, or this one under the number that the driver gives it.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
pub struct Process {
    /// Its number; in a container, the host's number.
    pub pid: u64,
    /// Its memory on the device, in bytes.
    pub bytes: u64,
}

/// The numbers of one message, in bytes; `None` where it does not say.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize)]
pub struct Facts {
    /// Asked for. PyTorch prints the size of the segment it wanted: 2 MiB for up to 1 MiB, 20 MiB for
    /// up to 10 MiB, then multiples of 2 MiB.
    pub requested_bytes: Option<u64>,
    /// The device's number, as the process counts.
    pub gpu_index: Option<u64>,
    /// The device's memory.
    pub capacity_bytes: Option<u64>,
    /// What the driver had left after idle segments were given back.
    pub free_bytes: Option<u64>,
    /// This process's memory on the device, all of it.
    pub process_bytes: Option<u64>,
    /// Taken by live tensors; from PyTorch 2.4 on it includes `private_pool_bytes`.
    pub allocated_bytes: Option<u64>,
    /// Held by the allocator.
    pub reserved_bytes: Option<u64>,
    /// Held by the allocator and idle, private pools left out.
    pub reserved_unallocated_bytes: Option<u64>,
    /// Idle in private pools, where other requests may not go.
    pub private_pool_bytes: Option<u64>,
    /// The limit set by a memory fraction or watermark.
    pub allowed_bytes: Option<u64>,
    /// Memory of this process outside the allocator; MPS alone says so.
    pub other_allocations_bytes: Option<u64>,
    /// Live blocks and those awaited by another stream; NPU alone says so.
    pub active_bytes: Option<u64>,
    /// The processes named by number, in the order of the text.
    #[serde(skip)]
    pub process_list: Vec<Process>,
    /// Which of the above are sums of numbers in the text.
    pub derived: Vec<Field>,
}

impl Facts {
    /// The place of a quantity.
    pub(crate) fn at(&mut self, field: Field) -> &mut Option<u64> {
        match field {
            Field::Requested => &mut self.requested_bytes,
            Field::Capacity => &mut self.capacity_bytes,
            Field::Free => &mut self.free_bytes,
            Field::Process => &mut self.process_bytes,
            Field::Allocated => &mut self.allocated_bytes,
            Field::Reserved => &mut self.reserved_bytes,
            Field::Unallocated => &mut self.reserved_unallocated_bytes,
            Field::PrivatePool => &mut self.private_pool_bytes,
            Field::Allowed => &mut self.allowed_bytes,
            Field::OtherAllocations => &mut self.other_allocations_bytes,
            Field::Active => &mut self.active_bytes,
        }
    }

    /// Keeps the first value of each quantity.
    pub(crate) fn set(&mut self, field: Field, bytes: Option<u64>) {
        let place = self.at(field);
        if place.is_none() {
            *place = bytes;
        }
    }

    /// Whether the text gave any number.
    #[must_use]
    pub fn any(&self) -> bool {
        let numbers = [
            self.requested_bytes,
            self.capacity_bytes,
            self.free_bytes,
            self.process_bytes,
            self.allocated_bytes,
            self.reserved_bytes,
            self.reserved_unallocated_bytes,
            self.allowed_bytes,
        ];
        numbers.iter().any(Option::is_some)
    }

    /// Adds what follows by sums: reserved = allocated + idle, in every version that prints either.
    pub(crate) fn derive(&mut self) {
        let (allocated, reserved, idle) =
            (self.allocated_bytes, self.reserved_bytes, self.reserved_unallocated_bytes);
        match (allocated, reserved, idle) {
            (Some(allocated), None, Some(idle)) => {
                self.reserved_bytes = Some(allocated.saturating_add(idle));
                self.derived.push(Field::Reserved);
            }
            (Some(allocated), Some(reserved), None) => {
                // Both are rounded, so that equal ones may be printed a hundredth apart.
                self.reserved_unallocated_bytes = Some(reserved.saturating_sub(allocated));
                self.derived.push(Field::Unallocated);
            }
            _ => {}
        }
    }
}
