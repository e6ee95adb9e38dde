//! Draws views through plotters on any backend.
