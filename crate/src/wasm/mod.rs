//! The border to JavaScript: a [`session::Session`] in the worker, a painter and the reader of error
//! texts on the page.
mod blob;
pub mod compare;
mod convert;
mod explore;
pub mod icicle;
pub mod message;
pub mod page;
pub mod painter;
pub mod session;
pub mod steps;
pub mod stripped;
mod views;
