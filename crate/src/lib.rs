//! Reads a PyTorch CUDA memory snapshot and says why the GPU ran out of memory.
//!
//! One straight path, each stage a function of the one before it:
//!
//! ```text
//! file bytes -> container -> pickle -> snapshot -> timeline -> findings -> view -> chart, text, JSON
//! ```

pub mod allocator;
mod batches;
pub mod chart;
pub mod compare;
pub mod container;
pub mod error;
pub mod findings;
pub mod limits;
pub mod message;
pub mod pickle;
pub mod snapshot;
pub mod stripped;
pub mod text;
pub mod timeline;
pub mod units;
pub mod view;
pub mod warning;

#[cfg(target_arch = "wasm32")]
pub mod wasm;

/// The version of this build, as printed by every deliverable.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The commit that it was built from, where the build was told (`OOMSCOPE_COMMIT`) or asked git.
pub const COMMIT: Option<&str> = option_env!("OOMSCOPE_COMMIT");
