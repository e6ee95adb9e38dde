//! The border to JavaScript: a [`session::Session`] in the worker, a painter on the page.
pub mod session;
