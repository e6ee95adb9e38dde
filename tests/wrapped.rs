//! What a file is wrapped in, and files that are something else.

use crate::hostile::{Batches, assert_refused, one_block, pickle, pickled, survives};
use crate::support::{describe, difference, read, tests, written};
use flate2::Compression;
use flate2::write::GzEncoder;
use oomscope::container::Container;
use oomscope::error::ErrorKind;
use serde_json::json;
use std::fs;
use std::io::{Cursor, Write as _};
use std::process::{Command, Stdio};

/// The small snapshot in one form.
fn small(form: &str) -> Vec<u8> {
    let files = written(&["small"]);
    files.into_iter().find(|file| file.form == form).unwrap().bytes
}

#[test]
fn zstandard_is_read() {
    let snapshot = read(fs::read(tests().join("fixtures/small.pickle.zst")).unwrap()).unwrap();
    assert_eq!(snapshot.wrapping.container, Container::Zstd);
    let expected = String::from_utf8(small("expected")).unwrap();
    assert_eq!(difference(&describe(&snapshot), &expected), None);
}

#[test]
fn files_of_other_kinds_are_named() {
    let error = "Traceback (most recent call last):\n  File \"train.py\", line 5, in <module>\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.";
    for (bytes, word) in [
        (&b""[..], "empty"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "picture"),
        (b"\xff\xd8\xff\xe0\0\x10JFIF", "picture"),
        (b"BZh91AY&SY", "bzip2"),
        (b"\x04\x22\x4d\x18\x64\x40", "lz4"),
        (b"7z\xbc\xaf\x27\x1c\0\x04", "7z"),
        (b"%PDF-1.7\n", "PDF"),
        (b"\x93NUMPY\x01\0v\0", "NumPy"),
        (b"\x7fELF\x02\x01\x01", "program"),
        (b"SQLite format 3\0", "SQLite"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n", "git lfs pull"),
        (error.as_bytes(), "text of an error"),
        (b"torch.cuda.OutOfMemoryError: CUDA out of memory.", "text of an error"),
        (b"|===========================================================================|\n|                  PyTorch CUDA memory summary, device ID 0                 |", "memory_summary"),
        (b"hello", "0x68"),
        (b"\0\0\0\0", "0x00"),
        (b"\n\n", "0x0a"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "0x3c"),
        (b"<!DOCTYPE html><html><body>hello</body></html>", "page"),
        (b"<html><script>let alloc_data = {}</script></html>", "page"),
    ] {
        assert_refused(bytes.to_vec(), ErrorKind::NotASnapshot, word);
    }
}

#[test]
fn pickles_of_other_things_are_named() {
    for (value, word) in [
        (json!({"allocated_bytes.all.current": 5, "num_alloc_retries": 0}), "memory_stats"),
        (json!({"traceEvents": [{"name": "x", "ts": 5}]}), "profiler"),
        (json!({"state_dict": {"w": [1, 2]}, "epoch": 3}), "checkpoint"),
        (json!({"weights": 1, "biases": 2}), "2 keys"),
        (json!([1, 2, 3]), "neither"),
        (json!([[1, 2], [3, 4]]), "neither"),
        (json!([[]]), "neither"),
        (json!({}), "neither"),
        (json!([{"action": "alloc", "addr": 1, "size": 2}]), "neither"),
    ] {
        assert_refused(value.to_string().into(), ErrorKind::NotASnapshot, word);
        for batches in [Batches::Always, Batches::ForSeveral, Batches::Never] {
            assert_refused(pickled(&value, batches), ErrorKind::NotASnapshot, word);
        }
    }
    for opcodes in [&b"N"[..], b"K\x05", b"\x88", b")", b"]K\x01a", b"C\x03abc", b"\x8f", b"V\n"] {
        assert_refused(pickle(&[opcodes]), ErrorKind::NotASnapshot, "neither");
    }
}

fn gzipped(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zipped(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default()
        .compression_method(zip::CompressionMethod::Stored)
        .last_modified_time(zip::DateTime::default());
    for (name, bytes) in files {
        archive.start_file(*name, options).unwrap();
        archive.write_all(bytes).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

#[test]
fn archives_without_one_snapshot_are_refused() {
    let snapshot = one_block(b"", b"");
    let in_notes = zipped(&[("notes.txt", b"hello"), ("weights.bin", &snapshot)]);
    assert_refused(in_notes, ErrorKind::NotASnapshot, "no file that looks like a snapshot");
    assert_refused(zipped(&[]), ErrorKind::NotASnapshot, "no file that looks like a snapshot");
    let two = zipped(&[("a.pickle", &snapshot), ("b.pickle", &snapshot)]);
    assert_refused(two, ErrorKind::Unsupported, "2 possible snapshots");
    let odd = zipped(&[("a\n\u{1b}.pickle", &snapshot), ("b.pickle", &snapshot)]);
    assert_refused(odd, ErrorKind::Unsupported, "2 possible snapshots");
    let checkpoint = pickle(&[b"ctorch._utils\n_rebuild_tensor_v2\n"]);
    let saved = zipped(&[("model/data.pkl", &checkpoint), ("model/data/0", &[0; 64])]);
    assert_refused(saved, ErrorKind::Unsupported, "checkpoint");
    let inside = gzipped(&zipped(&[("a.pickle", &snapshot)]));
    assert_refused(inside, ErrorKind::Unsupported, "zip inside");
    let empty = zipped(&[("a.pickle", b"")]);
    assert_refused(empty, ErrorKind::NotASnapshot, "empty");
}

#[test]
fn an_archive_packed_otherwise_is_refused() {
    let mut archive = zipped(&[("a.pickle", &one_block(b"", b""))]);
    assert!(read(archive.clone()).is_ok());
    // The method, in the file's own header and in the directory: 14 is LZMA, 99 is encrypted.
    let directory = archive.windows(4).position(|window| window == b"PK\x01\x02").unwrap();
    for method in [1, 12, 14, 93, 99] {
        (archive[8], archive[directory + 10]) = (method, method);
        let result = survives(&archive, || format!("method {method}"));
        let error = result.expect_err("no such method is known");
        assert!(
            [ErrorKind::Unsupported, ErrorKind::Container].contains(&error.kind()),
            "{method}: {error}"
        );
    }
}

/// 96 MiB of zeros as three byte strings, so that nothing but the guard can object.
fn swollen() -> Vec<u8> {
    let zeros = vec![0; 32 << 20];
    let claim = u32::try_from(zeros.len()).unwrap().to_le_bytes();
    let item = [b"B".as_slice(), &claim, &zeros, b"0"].concat();
    pickle(&[&item, &item, &item, b"N"])
}

const STOPPED: &str = "2000 times its size";

#[test]
fn a_bomb_is_stopped() {
    let once = gzipped(&swollen());
    let twice = gzipped(&once);
    assert!(twice.len() < 10_000, "{}", twice.len());
    assert_refused(twice.clone(), ErrorKind::Limit, STOPPED);
    // What real files reach is let through, and is then judged by its content.
    assert!(once.len() > 100_000, "{}", once.len());
    assert_refused(once.clone(), ErrorKind::NotASnapshot, "neither");
    assert_refused(gzipped(&vec![0; 96 << 20]), ErrorKind::NotASnapshot, "0x00");
    // In a zip, whose own method shrinks a thousand times and no more.
    assert_refused(zipped(&[("a.pickle.gz", &twice)]), ErrorKind::Limit, STOPPED);
    let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default()
        .compression_method(zip::CompressionMethod::Deflated)
        .last_modified_time(zip::DateTime::default());
    archive.start_file("a.pickle.gz", options).unwrap();
    archive.write_all(&once).unwrap();
    let deflated = archive.finish().unwrap().into_inner();
    assert!(deflated.len() < 10_000, "{}", deflated.len());
    assert_refused(deflated, ErrorKind::Limit, STOPPED);
}

#[test]
fn a_bomb_of_zstandard_is_stopped() {
    // Blocks of one byte that is repeated 128 KiB long; the last block is empty.
    const BLOCK: u32 = 1 << 17;
    let block = |kind: u32, size: u32, bytes: &[u8]| {
        let header = (kind << 1 | size << 3).to_le_bytes();
        [&header[..3], bytes].concat()
    };
    let raw = |bytes: &[u8]| block(0, bytes.len() as u32, bytes);
    let zeros = block(1, BLOCK, &[0]).repeat(256);
    let claim = [b"B".as_slice(), &(256 * BLOCK).to_le_bytes()].concat();
    let item = [raw(&claim), zeros, raw(b"0")].concat();
    let magic = b"\x28\xb5\x2f\xfd\x00\x38";
    let end = [1, 0, 0];
    let parts = [magic.as_slice(), &raw(b"\x80\x02"), &item, &item, &item, &raw(b"N."), &end];
    let bomb = parts.concat();
    assert!(bomb.len() < 4_000, "{}", bomb.len());
    assert_refused(bomb, ErrorKind::Limit, STOPPED);
    // The same with one item is within the bounds, and well-formed.
    let parts = [magic.as_slice(), &raw(b"\x80\x02"), &item, &raw(b"N."), &end];
    assert_refused(parts.concat(), ErrorKind::NotASnapshot, "neither");
    // A window of 2^41 bytes is claimed.
    assert_refused(b"\x28\xb5\x2f\xfd\x00\xf8\x01\0\0".to_vec(), ErrorKind::Container, "zstd");
}

#[test]
fn a_bomb_of_xz_is_stopped() {
    let program = "import lzma, sys; sys.stdout.buffer.write(lzma.compress(sys.stdin.buffer.read(), preset=1))";
    let mut python = Command::new("python3")
        .args(["-c", program])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    python.stdin.take().unwrap().write_all(&swollen()).unwrap();
    let bomb = python.wait_with_output().unwrap().stdout;
    assert!(bomb.len() < 20_000, "{}", bomb.len());
    assert_refused(bomb, ErrorKind::Limit, STOPPED);
}

/// The header of a block says how much memory its reader needs.
#[test]
fn an_xz_file_that_claims_four_gibibytes_gets_none() {
    let mut packed = small("pickle.xz");
    // After the stream's header: the length of the block's in words, less one; a filter of one property.
    let (begin, end) = (12, 12 + usize::from(packed[12]) * 4);
    let property =
        begin + 2 + packed[begin + 2..].iter().position(|byte| *byte == 0x21).unwrap() + 2;
    let snapshot = read(packed.clone()).unwrap();
    packed[property] = 40;
    let mut sum = flate2::Crc::new();
    sum.update(&packed[begin..end]);
    packed[end..end + 4].copy_from_slice(&sum.sum().to_le_bytes());
    assert_refused(packed, ErrorKind::Limit, "memory");
    assert_eq!(snapshot.wrapping.container, Container::Xz);
}

#[test]
fn packed_json_that_is_cut_or_broken_is_refused() {
    let entry = json!({"action": "alloc", "addr": 4096, "size": 512});
    let text = json!({"segments": [], "device_traces": [vec![entry; 4_000]]}).to_string();
    // Stored, so that where a block begins can be seen: its length, and that length inverted.
    let mut encoder = GzEncoder::new(Vec::new(), Compression::none());
    encoder.write_all(text.as_bytes()).unwrap();
    let packed = encoder.finish().unwrap();
    assert_eq!(read(packed.clone()).unwrap().entries.len(), 4_000);
    let cut = packed[..packed.len() / 2].to_vec();
    assert_refused(cut, ErrorKind::Truncated, "the packed JSON text ends in the middle");
    let is_block =
        |bytes: &[u8]| bytes[..2] != [0, 0] && bytes[0] == !bytes[2] && bytes[1] == !bytes[3];
    let mut blocks = (0..packed.len() - 4).filter(|place| is_block(&packed[*place..]));
    let last = blocks.next_back().unwrap();
    let mut broken = packed.clone();
    broken[last] ^= 1;
    assert_refused(broken, ErrorKind::Container, "the packed JSON text cannot be read");
}

#[test]
fn wrappings_are_counted() {
    let mut wrapped = one_block(b"", b"");
    for _ in 0..3 {
        wrapped = gzipped(&wrapped);
        assert!(read(wrapped.clone()).is_ok());
    }
    for _ in 0..40 {
        wrapped = gzipped(&wrapped);
    }
    assert_refused(wrapped, ErrorKind::Limit, "wrapped more than");
}
