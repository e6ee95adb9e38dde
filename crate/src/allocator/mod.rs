//! PyTorch's CUDA caching allocator, replayed (`c10/cuda/CUDACachingAllocator.cpp` of PyTorch 2.11).
//! In go a snapshot and its timeline, out comes what the allocator does with the same requests:
//! under the recorded settings, which shows how far the replay can be trusted, or under others.
//!
//! The allocator is a deterministic machine of the requests, the frees, the settings and the
//! driver's answers. A trace has the first two ([`program`]); a file has most of the third
//! ([`settings`]); the driver is recorded or modelled ([`driver`]).
//!
//! Not replayed: captures of CUDA graphs, which release nothing while they last, checkpoints of
//! their pools, and pools with an allocator of their own.

pub mod block;
mod burst;
pub mod cache;
pub mod conf;
pub mod driver;
pub mod enough;
mod extract;
mod grow;
pub mod program;
mod release;
#[cfg(test)]
mod round_trip;
pub mod settings;
mod shelf;
mod start;
pub mod verify;
pub mod what_if;
