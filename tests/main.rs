//! All suites in one program: linking one is many times cheaper than linking each.

mod allocator;
mod allocator_generated;
mod blocks;
mod cli;
mod compare;
mod compare_view;
mod degrade;
mod explore;
mod findings;
mod folders;
mod golden;
mod hostile;
mod layers;
mod made_run;
mod message;
mod pickle;
mod replay;
mod selection;
mod support;
mod table;
mod timeline;
mod what_if;
