//! Where in the nested value the reader is, worked out only when somebody asks.

use crate::error::shown;

/// One step of a path, outermost first.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Step {
    /// The value of a dict's key.
    Key(super::TextId),
    /// An item of a list, counted from 0.
    Index(u64),
}

/// Tells the place of the value in hand.
pub trait Place {
    /// The steps from the top of the file to the value in hand.
    fn steps(&self) -> Vec<Step>;
}

/// Steps told of a path; those of snapshots have up to seven.
const TOLD: usize = 16;

/// The steps as text: `segments[3].blocks[7]`. Of more than [`TOLD`], which no snapshot has, the
/// inner ones are left out.
pub(crate) fn path_from_steps(steps: &[Step], text_of: &dyn Fn(super::TextId) -> String) -> String {
    use std::fmt::Write as _;
    let mut path = String::new();
    for step in steps.iter().take(TOLD) {
        match step {
            Step::Key(key) => {
                if !path.is_empty() {
                    path.push('.');
                }
                path.push_str(&shown(&text_of(*key)));
            }
            Step::Index(index) => {
                let _ = write!(path, "[{index}]");
            }
        }
    }
    if steps.len() > TOLD {
        path.push('…');
    }
    path
}
