//! What one picture or table shows, cut down to its pixels or rows.
pub mod timeline;
