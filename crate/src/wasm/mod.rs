//! The border to JavaScript: a [`session::Session`] in the worker, a painter and the reader of error
//! texts on the page.
mod blob;
pub mod compare;
mod convert;
pub mod message;
pub mod page;
pub mod painter;
pub mod session;
mod views;
