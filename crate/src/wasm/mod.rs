//! The border to JavaScript: a [`session::Session`] in the worker, a painter on the page.
mod blob;
mod convert;
pub mod painter;
pub mod session;
