//! `oomscope html FILE -o PAGE` and `oomscope open FILE`.

use super::output::{print_line, source};
use oomscope::container::{saved, undecodable};
use oomscope::stripped::without_folders;
use std::fs::{self, File};
use std::io::{self, BufWriter, Seek as _};
use std::path::{Path, PathBuf};

/// The offline page of this build; empty where the build was given none.
const PAGE: &str = include_str!(concat!(env!("OUT_DIR"), "/page.html"));

#[derive(clap::Args)]
pub(crate) struct HtmlArguments {
    /// The snapshot: a pickle as _dump_snapshot writes it, or packed as .gz, .xz, .zst or .zip.
    pub(crate) file: PathBuf,
    /// Where to write the page.
    #[arg(short, long, value_name = "PAGE")]
    output: PathBuf,
    /// Leave the folders out of all paths in the snapshot; of installed packages, the path among them
    /// stays.
    #[arg(long)]
    strip_paths: bool,
    /// The empty page, instead of the one that this program carries.
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
}

#[derive(clap::Args)]
pub(crate) struct OpenArguments {
    /// The snapshot: a pickle as _dump_snapshot writes it, or packed as .gz, .xz, .zst or .zip.
    pub(crate) file: PathBuf,
    /// Print where the page lies, and start no browser.
    #[arg(long)]
    no_browser: bool,
    /// The empty page, instead of the one that this program carries.
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
}

pub(crate) fn write(asked: &HtmlArguments) -> Result<(), String> {
    let page = page(asked.page.as_deref())?;
    let mut snapshot = source(&asked.file)?;
    if asked.strip_paths {
        snapshot = stripped(snapshot)?;
    }
    let out = File::create(&asked.output).map_err(unwritable)?;
    save(&page, &asked.file, snapshot, out).inspect_err(|_| {
        // Half a page helps nobody; the error says why it is not there.
        let _ = fs::remove_file(&asked.output);
    })
}

/// Prints the path before the browser starts, which may fail or be another machine's.
pub(crate) fn open(asked: &OpenArguments) -> Result<(), String> {
    let page = page(asked.page.as_deref())?;
    let snapshot = source(&asked.file)?;
    let out = tempfile::Builder::new().prefix("oomscope-").suffix(".html").tempfile();
    let out = out.map_err(unwritable)?;
    save(&page, &asked.file, snapshot, out.as_file().try_clone().map_err(unwritable)?)?;
    let (_, path) = out.keep().map_err(|error| unwritable(error.error))?;
    print_line(&path.display())?;
    if asked.no_browser {
        return Ok(());
    }
    opener::open_browser(&path).map_err(|error| {
        format!("the browser could not be started: {error}; open {} yourself.", path.display())
    })
}

/// The same snapshot without folders, in a file that goes with the program.
fn stripped(snapshot: File) -> Result<File, String> {
    let mut stripped = without_folders(Box::new(snapshot)).map_err(|error| error.to_string())?;
    let mut file = tempfile::tempfile().map_err(unwritable)?;
    io::copy(&mut stripped, &mut file).map_err(|error| undecodable(error).to_string())?;
    file.rewind().map_err(unwritable)?;
    Ok(file)
}

fn save(page: &str, file: &Path, snapshot: File, out: File) -> Result<(), String> {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    saved::write_page(page, snapshot, &name, "", &mut BufWriter::new(out))
        .map_err(|error| error.to_string())
}

fn page(named: Option<&Path>) -> Result<String, String> {
    match named {
        Some(file) => fs::read_to_string(file).map_err(|error| {
            format!("the page {} cannot be read: {error}; name dist/oomscope.html.", file.display())
        }),
        None if PAGE.is_empty() => Err("this program was built without the page; name one with --page oomscope.html (`make build` writes dist/oomscope.html), or install with pip.".to_owned()),
        None => Ok(PAGE.to_owned()),
    }
}

fn unwritable(error: std::io::Error) -> String {
    format!(
        "the page cannot be written: {error}; check that the folder exists and may be written to."
    )
}
