//! What a build knows of its surroundings: the page to carry, and the commit.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

fn main() {
    carry_page();
    name_commit();
}

/// Lays the page that `OOMSCOPE_PAGE` names where the program includes it, or an empty one.
fn carry_page() {
    println!("cargo::rerun-if-env-changed=OOMSCOPE_PAGE");
    let page = match env::var_os("OOMSCOPE_PAGE") {
        Some(file) => {
            println!("cargo::rerun-if-changed={}", Path::new(&file).display());
            fs::read(&file)
                .unwrap_or_else(|error| panic!("OOMSCOPE_PAGE names {}: {error}", file.display()))
        }
        None => Vec::new(),
    };
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    fs::write(out.join("page.html"), page).expect("cargo made the folder");
}

/// Asks git where nobody said it (`OOMSCOPE_COMMIT`) and the build is one to keep: another build
/// at each commit would cost who works on it minutes.
fn name_commit() {
    println!("cargo::rerun-if-env-changed=OOMSCOPE_COMMIT");
    if env::var_os("OOMSCOPE_COMMIT").is_some() || env::var("PROFILE").as_deref() != Ok("release") {
        return;
    }
    // A repository that merely holds a copy of this package is not its own.
    let manifest = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let top = git(&["rev-parse", "--show-toplevel"]).map(PathBuf::from);
    if top.as_deref() != manifest.parent() {
        return;
    }
    if let Some(commit) = git(&["describe", "--always", "--dirty", "--tags"]) {
        println!("cargo::rustc-env=OOMSCOPE_COMMIT={commit}");
    }
    if let Some(log) =
        git(&["rev-parse", "--git-path", "logs/HEAD"]).filter(|log| Path::new(log).exists())
    {
        println!("cargo::rerun-if-changed={log}");
    }
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (output.status.success() && !text.is_empty()).then_some(text)
}
