//! `oomscope html` and `oomscope open`.

use super::*;

/// A page with an empty place for a snapshot, as the offline page has one.
fn empty_page(folder: &Path) -> String {
    let page = folder.join("empty.html");
    std::fs::write(&page, "<!doctype html>\n<p>before</p>\n<script type=\"application/octet-stream\" id=\"oomscope-snapshot\"></script>\n<p>after</p>\n").unwrap();
    page.to_str().unwrap().to_owned()
}

/// What lies in the page and the name beside it, decoded.
fn inside(page: &str) -> (Vec<u8>, String) {
    let decoded =
        |text| base64::Engine::decode(&base64::engine::general_purpose::STANDARD, text).unwrap();
    let element = page.split_once("id=\"oomscope-snapshot\" data-name=\"").unwrap().1;
    let (name, rest) = element.split_once("\" data-view=\"\">").unwrap();
    let text = rest.split_once("</script>\n<p>after</p>\n").unwrap().0;
    (decoded(text), String::from_utf8(decoded(name)).unwrap())
}

#[test]
fn a_page_holds_a_packed_snapshot_as_it_is_and_another_with_gzip() {
    let folder = scratch("html");
    let page = empty_page(&folder);
    let out = folder.join("out.html");
    let out = out.to_str().unwrap();
    let packed = fixture("cat_lstm");
    assert_eq!(stdout(&succeeds(&["html", &packed, "-o", out, "--page", &page])), "");
    let written = std::fs::read_to_string(out).unwrap();
    assert!(written.starts_with("<!doctype html>\n<p>before</p>\n"));
    let (bytes, name) = inside(&written);
    assert_eq!(bytes, std::fs::read(&packed).unwrap());
    assert_eq!(name, "cat_lstm.pickle.xz");
    // The page is a snapshot like any other.
    let cause = |file: &str| {
        let report: Value =
            serde_json::from_str(stdout(&succeeds(&["report", file, "--json"]))).unwrap();
        assert_eq!(report["file"]["container"] == "html", file.ends_with(".html"));
        report["diagnosis"].clone()
    };
    assert_eq!(cause(out), cause(&packed));

    let plain = folder.join("a&\"b.pickle");
    let mut unpacked = Vec::new();
    let mut reader = lzma_rust2::XzReader::new(std::fs::File::open(&packed).unwrap(), true);
    std::io::Read::read_to_end(&mut reader, &mut unpacked).unwrap();
    std::fs::write(&plain, &unpacked).unwrap();
    succeeds(&["html", plain.to_str().unwrap(), "-o", out, "--page", &page]);
    let (bytes, name) = inside(&std::fs::read_to_string(out).unwrap());
    let mut again = Vec::new();
    std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(&bytes[..]), &mut again).unwrap();
    assert_eq!(again, unpacked);
    assert_eq!(name, "a&\"b.pickle");

    let report = |file: &str| stdout(&succeeds(&["report", file])).to_owned();
    assert!(report(out).contains("/home/"));
    succeeds(&["html", plain.to_str().unwrap(), "-o", out, "--page", &page, "--strip-paths"]);
    assert!(!report(out).contains("/home/"));
    assert_eq!(report(out).lines().next(), report(&packed).lines().next());
    succeeds(&["html", plain.to_str().unwrap(), "-o", out, "--page", &page]);

    // A page made of a page holds what that one held.
    let twice = folder.join("twice.html");
    let twice = twice.to_str().unwrap();
    succeeds(&["html", out, "-o", twice, "--page", &page]);
    assert_eq!(inside(&std::fs::read_to_string(twice).unwrap()).0, bytes);
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_page_that_cannot_be_made_is_not_there() {
    let folder = scratch("no-html");
    let page = empty_page(&folder);
    let out = folder.join("out.html");
    let out = out.to_str().unwrap();
    let file = fixture("cat_lstm");
    let sentence = fails(&["html", &file, "-o", out], &file);
    assert!(sentence.contains("--page oomscope.html"), "{sentence}");
    let sentence =
        fails(&["html", &file, "-o", out, "--page", &file.replace("cat_", "no_")], &file);
    assert!(sentence.contains("cannot be read"), "{sentence}");
    let text = hostile("error.txt");
    fails(&["html", &text, "-o", out, "--page", &page], &text);
    let sentence = fails(&["html", &page, "-o", out, "--page", &page], &page);
    assert!(sentence.contains("no snapshot inside"), "{sentence}");
    let other = folder.join("other.html");
    std::fs::write(&other, "<!doctype html>").unwrap();
    let sentence = fails(&["html", &file, "-o", out, "--page", other.to_str().unwrap()], &file);
    assert!(sentence.contains("no empty place"), "{sentence}");
    assert!(!Path::new(out).exists());
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_snapshot_is_opened_where_the_browser_finds_it() {
    let folder = scratch("open");
    let page = empty_page(&folder);
    let file = fixture("cat_lstm");
    let mut program = Command::new(env!("CARGO_BIN_EXE_oomscope"));
    program.env("TMPDIR", &folder).env("BROWSER", folder.join("none"));
    let asked = program.args(["open", &file, "--page", &page]);
    let output = asked.output().unwrap();
    let written = stdout(&output).trim().to_owned();
    assert_eq!(
        inside(&std::fs::read_to_string(&written).unwrap()).0,
        std::fs::read(&file).unwrap()
    );
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr(&output).ends_with(&format!("; open {written} yourself.\n")),
        "{}",
        stderr(&output)
    );
    let output = asked.arg("--no-browser").output().unwrap();
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), ""));
    assert_ne!(stdout(&output).trim(), written);
    std::fs::remove_dir_all(&folder).unwrap();
}
