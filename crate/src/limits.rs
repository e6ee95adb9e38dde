//! Every bound on input, named, with its reason. Passing one is an error of kind
//! [`Limit`](crate::error::ErrorKind::Limit), never a warning.

/// Longest text or byte string, in bytes. PyTorch's longest are demangled C++ names and user
/// metadata, kilobytes at most; a longer claim is damage.
pub const TEXT_BYTES: u64 = 64 << 20;

/// Longest line of the text opcodes of protocols 0 and 1, in bytes.
pub const LINE_BYTES: usize = 1 << 20;

/// Longest integer, in bytes. Addresses take nine.
pub const INTEGER_BYTES: u64 = 1 << 10;

/// Lists and dicts that may be under construction at once. Real files nest seven deep, with up to
/// 1,000 finished children waiting for each; hostile ones nest a million deep.
pub const OPEN_CONTAINERS: usize = 1 << 20;

/// Values that may wait on the pickle stack. The C++ writer leaves a whole trace there, one value
/// an entry.
pub const STACK_VALUES: usize = 1 << 26;

/// Memoised objects, distinct texts, and records of one kind: what the 28 bits of a handle count.
pub const HANDLES: u32 = (1 << 28) - 1;

/// Trace entries. With all that is worked out from them, each takes some 130 bytes, and a browser's
/// tab gives a module 4 GiB in all; the terminal reads what the handles can count.
pub const ENTRIES: u32 = if cfg!(target_pointer_width = "32") { 24_000_000 } else { HANDLES };

/// Records kept in full for which the format has no name, such as the allocator's settings. A
/// snapshot has two.
pub const PLAIN_DICTS: usize = 1 << 16;

/// Largest size that a block, a segment or an entry may state, in bytes. PyTorch itself refuses
/// requests from 2^60 bytes on.
pub const SIZE_BYTES: u64 = 1 << 60;

/// Devices in one file: the most that PyTorch addresses.
pub const DEVICES: usize = 1 << 10;

/// Bytes that a compressed file may unpack to for each byte it has. Real snapshots reach 150 with
/// xz; a bomb reaches 1,000 and far more.
pub const UNPACK_RATIO: u64 = 2_000;

/// Bytes that a compressed file may unpack to whatever its ratio.
pub const UNPACK_FREE_BYTES: u64 = 64 << 20;

/// Memory that unpacking xz may take, in KiB. `xz -9` takes 65 MiB; a few bytes may ask for 4 GiB.
pub const XZ_KIBIBYTES: u32 = 256 << 10;

/// Longest summary that is compared, in bytes. They have some tens of kilobytes; ones of programs
/// with very many lines some megabytes.
pub const SUMMARY_BYTES: u64 = 256 << 20;

/// Longest error text or log, in bytes. Reading takes twice that in memory, which a browser still
/// has; the first message of a longer log is in its first gigabyte all the same.
pub const MESSAGE_BYTES: u64 = 512 << 20;

/// Longest base64 of a snapshot in a page, in bytes: Chrome's longest text has 24 letters less than
/// 512 MiB, and all of it is one text.
pub const PAGE_TEXT_BYTES: u64 = (380 << 20) / 3 * 4;
