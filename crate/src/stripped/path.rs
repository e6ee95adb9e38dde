//! The paths in a snapshot's texts.

use crate::findings::frame_kind::{INSTALLED, NOTEBOOK, PACKAGES, TORCH_SOURCE};
use crate::view::folders::{text_without_folders, without_folders};
use std::borrow::Cow;

/// A text without folders: a file's name keeps what tells whose code it is, any other text is cut
/// as in a report. Borrowed where nothing changes.
pub(super) fn stripped(text: &str) -> Cow<'_, str> {
    if !text.contains(['/', '\\']) {
        return Cow::Borrowed(text);
    }
    let short = if is_file(text) { file_stripped(text) } else { text_without_folders(text) };
    if short == text { Cow::Borrowed(text) } else { Cow::Owned(short) }
}

/// Whether the whole text is the name of a file, spaces in its folders included.
fn is_file(text: &str) -> bool {
    let is_rooted = text.starts_with(['/', '\\', '~']) || text.get(1..3) == Some(":\\");
    let name = text.rsplit(['/', '\\']).next().unwrap_or(text);
    let has_ending = name.rsplit_once('.').is_some_and(|(stem, ending)| {
        !stem.is_empty() && !ending.is_empty() && ending.chars().all(char::is_alphanumeric)
    });
    has_ending && !text.contains('\n') && (is_rooted || !text.contains(char::is_whitespace))
}

fn file_stripped(file: &str) -> String {
    let path = file.replace('\\', "/");
    let last = |markers: &[&str]| markers.iter().filter_map(|marker| path.rfind(marker)).max();
    if let Some(at) = last(&PACKAGES) {
        return path[at..].to_owned();
    }
    let name = without_folders(&path);
    let told = || INSTALLED.iter().chain([&NOTEBOOK]).find(|marker| path.contains(**marker));
    match (told(), last(&TORCH_SOURCE)) {
        // What follows may be a version, a number or the user's name.
        (Some(marker), _) => format!("{}/{name}", marker.trim_end_matches('/')),
        (None, Some(at)) => path[at..].to_owned(),
        (None, None) => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::frame_kind::frame_kind;

    #[test]
    fn a_file_loses_its_folders_and_stays_whose_it_is() {
        for (file, expected) in [
            ("/home/me/my work/train.py", "train.py"),
            ("C:\\Users\\me\\work\\train.py", "train.py"),
            ("src/models/gpt.py", "gpt.py"),
            (
                "/home/me/env/lib/python3.12/site-packages/torch/optim/adam.py",
                "/site-packages/torch/optim/adam.py",
            ),
            (
                "C:\\me\\Lib\\site-packages\\torch\\optim\\adam.py",
                "/site-packages/torch/optim/adam.py",
            ),
            ("/home/me/conda/lib/python3.12/threading.py", "/lib/python/threading.py"),
            ("C:\\me\\Python312\\Lib\\threading.py", "/Lib/threading.py"),
            ("/tmp/torchinductor_me/ab/cab.py", "/torchinductor_/cab.py"),
            ("/tmp/ipykernel_77/12.py", "/ipykernel_/12.py"),
            ("/home/me/pytorch/torch/nn/modules/linear.py", "/torch/nn/modules/linear.py"),
            ("/home/me/pytorch/torch/_tensor.py", "/torch/_tensor.py"),
            ("/usr/lib/x86_64-linux-gnu/libc.so.6", "libc.so.6"),
            ("<frozen runpy>", "<frozen runpy>"),
        ] {
            let short = stripped(file);
            assert_eq!(short, expected);
            assert_eq!(frame_kind(&short, 3), frame_kind(file, 3), "{file}");
            assert_eq!(stripped(&short), short, "{file}");
        }
    }

    #[test]
    fn other_texts_are_cut_as_in_a_report() {
        assert_eq!(stripped("read /home/me/x.txt twice"), "read x.txt twice");
        assert_eq!(
            stripped("at::Tensor::operator/=(at::Tensor)"),
            "at::Tensor::operator/=(at::Tensor)"
        );
        assert_eq!(stripped("step 3/10"), "step 3/10");
    }
}
