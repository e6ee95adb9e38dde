//! What one picture, table or report shows, cut down to its pixels or rows. In go a snapshot and
//! its findings, out come plain values with every text and number ready to be shown.

pub mod allocation;
pub mod allocations;
pub mod blocks;
pub mod cards;
pub mod compare;
pub mod completion;
pub mod diagnosis;
pub mod entry;
pub mod folders;
pub mod frames;
pub mod message;
pub mod question;
pub mod range;
pub mod report;
pub mod selection;
pub mod setting_table;
pub mod settings;
pub mod stacks;
pub mod steps;
pub mod summary;
pub mod timeline;
pub mod what_if;
