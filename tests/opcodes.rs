//! Pickles made by hand: what no writer would write.

use crate::hostile::{assert_refused, one_block, pickle, survives, text};
use crate::support::{read, refused};
use oomscope::error::ErrorKind;
use oomscope::limits;

#[test]
fn the_hand_made_pickle_opens() {
    let snapshot = read(one_block(b"", b"")).unwrap();
    assert_eq!((snapshot.segments.len(), snapshot.blocks.len()), (1, 1));
    assert_eq!(snapshot.blocks[0].size, 1024);
    assert_eq!(snapshot.warnings.as_slice(), []);
}

#[test]
fn depth_is_no_recursion() {
    let deep = 1_000_000;
    // The value is the topmost list alone, an empty one: no memory in use.
    assert!(read(pickle(&[&b"]".repeat(deep)])).unwrap().segments.is_empty());
    let nested = pickle(&[&b"]".repeat(deep), &b"a".repeat(deep - 1)]);
    assert_refused(nested, ErrorKind::NotASnapshot, "neither segments nor device_traces");
    let nested = pickle(&[&b"](".repeat(deep), &b"e".repeat(deep)]);
    assert_refused(nested, ErrorKind::NotASnapshot, "neither segments nor device_traces");
    let dicts = pickle(&[&b"}K\0".repeat(deep), b"N", &b"s".repeat(deep)]);
    assert!(refused(dicts).kind() == ErrorKind::NotASnapshot);
    let tuples = pickle(&[b"N", &b"\x85".repeat(deep)]);
    assert_refused(tuples, ErrorKind::NotASnapshot, "neither segments nor device_traces");
    let cut = [b"\x80\x02".as_slice(), &b"]".repeat(deep)].concat();
    assert_refused(cut, ErrorKind::Truncated, "middle");
    for word in ["]", "}", "("] {
        let many = word.as_bytes().repeat(limits::OPEN_CONTAINERS + 1);
        assert_refused(pickle(&[&many]), ErrorKind::Limit, "1048576");
    }
}

#[test]
fn an_empty_stack_gives_nothing() {
    for opcodes in [
        b"".as_slice(),
        b"0",
        b"1",
        b"2",
        b"a",
        b"b",
        b"e",
        b"l",
        b"d",
        b"t",
        b"s",
        b"u",
        b"q\0",
        b"\x85",
        b"\x86",
        b"\x87",
        b"\x90",
        b"\x91",
        b"\x94",
        b"(",
        b"(s",
        b"(a",
        b"N(\x85",
        b"N(q\0",
        b"N(0(2",
    ] {
        let error = survives(&pickle(&[opcodes]), || format!("{opcodes:x?}")).unwrap_err();
        assert!(
            [ErrorKind::Shape, ErrorKind::Unsupported].contains(&error.kind()),
            "{opcodes:x?}: {error}"
        );
    }
}

#[test]
fn an_object_must_be_stored_before_it_is_asked_for() {
    assert_refused(pickle(&[b"h\x05"]), ErrorKind::Shape, "object 5");
    assert_refused(pickle(&[b"j\xff\xff\xff\xff"]), ErrorKind::Shape, "object 4294967295");
    assert_refused(pickle(&[b"g7\n"]), ErrorKind::Shape, "object 7");
    assert_refused(pickle(&[b"gx\n"]), ErrorKind::Shape, "\"x\"");
}

#[test]
fn items_go_to_a_container_of_their_kind() {
    let into = ErrorKind::Shape;
    assert_refused(pickle(&[b"}(K\x01e"]), into, "of a list to a dict");
    assert_refused(pickle(&[b"](K\x01K\x02u"]), into, "of a dict to a list");
    assert_refused(pickle(&[b"}K\x01a"]), into, "of a list to a dict");
    assert_refused(pickle(&[b"]K\x01K\x02s"]), into, "of a dict to a list");
    assert_refused(pickle(&[b"}(K\x01u"]), into, "key without a value");
    assert_refused(pickle(&[b"N(K\x01e"]), into, "neither a list nor a dict");
    assert_refused(pickle(&[b"K\x07(K\x01K\x02u"]), into, "neither a list nor a dict");
    assert_refused(pickle(&[b")K\x01a"]), into, "complete already");
    assert_refused(pickle(&[b"]q\0]h\0a0h\0K\x01a"]), into, "complete already");
}

#[test]
fn a_container_may_not_contain_itself() {
    let itself = ErrorKind::Shape;
    assert_refused(pickle(&[b"]q\0h\0a"]), itself, "contains itself");
    assert_refused(pickle(&[b"]q\0(h\0e"]), itself, "contains itself");
    assert_refused(pickle(&[b"}q\0K\x01h\0s"]), itself, "contains itself");
    assert_refused(pickle(&[b"}q\0(K\x01h\0u"]), itself, "contains itself");
    assert_refused(pickle(&[b"}q\0(K\x01](h\0eu"]), itself, "contains itself");
    assert_refused(pickle(&[b"]q\0(]q\x01h\0ae"]), itself, "contains itself");
    // By way of tuples and dicts, and of many others.
    assert_refused(pickle(&[b"]q\0(h\0\x85e"]), itself, "contains itself");
    assert_refused(pickle(&[b"]q\0}q\x01(K\x01]q\x02h\0aua"]), itself, "contains itself");
    let (deep, ends) = (b"](".repeat(100_000), b"e".repeat(100_001));
    assert_refused(pickle(&[b"]q\0(", &deep, b"h\0", &ends]), itself, "contains itself");
}

#[test]
fn a_claimed_length_allocates_nothing() {
    let most = u64::MAX.to_le_bytes();
    assert_refused(pickle(&[b"\x8d", &most]), ErrorKind::Limit, "18446744073709551615");
    assert_refused(pickle(&[b"\x8e", &most]), ErrorKind::Limit, "18446744073709551615");
    assert_refused(pickle(&[b"\x96", &most]), ErrorKind::Limit, "18446744073709551615");
    assert_refused(pickle(&[b"X\xff\xff\xff\xff"]), ErrorKind::Limit, "4294967295");
    assert_refused(pickle(&[b"B\xff\xff\xff\xff"]), ErrorKind::Limit, "4294967295");
    assert_refused(pickle(&[b"T\xff\xff\xff\xff"]), ErrorKind::Limit, "4294967295");
    assert_refused(pickle(&[b"\x8b\xff\xff\xff\x7f"]), ErrorKind::Limit, "2147483647");
    assert_refused(pickle(&[b"\x8b\xff\xff\xff\xff"]), ErrorKind::Limit, "4294967295");
    let bound = limits::TEXT_BYTES.to_le_bytes();
    assert_refused(pickle(&[b"\x8d", &bound]), ErrorKind::Truncated, "middle");
    // A frame's length says nothing that is needed.
    let framed = [b"\x80\x04\x95".as_slice(), &most, &one_block(b"", b"")[2..]].concat();
    assert!(read(framed).is_ok());
    let line = [b"(V".as_slice(), &b"x".repeat(limits::LINE_BYTES + 10)].concat();
    assert_refused(line, ErrorKind::Limit, "1048576");
}

#[test]
fn a_far_memo_number_allocates_nothing() {
    for put in [&b"r\xff\xff\xff\xff"[..], b"r\xfe\xff\xff\x7f", b"p4294967295\n"] {
        let stream = [&text("stream"), b"K\x07".as_slice(), put].concat();
        let snapshot = read(one_block(&stream, b"")).unwrap();
        assert_eq!(snapshot.segments[0].stream, 7, "{put:x?}");
    }
    assert_refused(pickle(&[b"Np4294967296\n"]), ErrorKind::Shape, "4294967296");
}

/// One entry a stack, each spelled by the numbers of its frames; `between` stands before the last.
fn three_entries(between: &[u8], last: &[u8]) -> Vec<u8> {
    let frame = |name: &str| {
        [b"}(", text("name").as_slice(), &text(name), &text("filename"), &text("a.py"), b"u"]
            .concat()
    };
    let entry = |stack: &[u8]| {
        let action = [text("action"), text("alloc"), text("addr"), b"K\x05".to_vec()].concat();
        [b"}(", action.as_slice(), &text("size"), b"K\x07", &text("frames"), b"](", stack, b"eu"]
            .concat()
    };
    let (f, g) = (frame("f"), frame("g"));
    let known = b"h\x01h\x02h\x01";
    let stored = [f.as_slice(), b"q\x010", &g, b"q\x020"].concat();
    pickle(&[
        &stored,
        b"}(",
        &text("device_traces"),
        b"](](",
        &entry(known),
        &entry(known),
        between,
        &entry(last),
        b"eeu",
    ])
}

#[track_caller]
fn names_of(bytes: Vec<u8>) -> Vec<String> {
    let snapshot = read(bytes).unwrap();
    let entries = (0..snapshot.entries.len()).map(|index| snapshot.entries.get(index).unwrap());
    let name = |id| snapshot.texts.get(snapshot.stacks.frame(id).unwrap().name);
    let stack = |stack| snapshot.stacks.frames_of(stack).iter().map(|id| name(*id)).collect();
    entries.map(|entry| stack(entry.stack)).collect()
}

#[test]
fn a_number_given_anew_means_something_else() {
    assert_eq!(names_of(three_entries(b"", b"h\x01h\x02h\x01")), ["fgf", "fgf", "fgf"]);
    assert_eq!(names_of(three_entries(b"", b"h\x02j\x01\0\0\0")), ["fgf", "fgf", "gf"]);
    // Numbers 1 and 2 change places, by number, as text, by way of a far number.
    for again in [
        &b"h\x01q\x000h\x02q\x010h\x00q\x020"[..],
        b"g1\np0\n0g2\np1\n0g0\np2\n0",
        b"h\x01r\xff\xff\xff\xff0h\x02r\x01\0\0\x000j\xff\xff\xff\xffq\x020",
    ] {
        for last in [&b"h\x01h\x02h\x01"[..], b"h\x01j\x02\0\0\0h\x01"] {
            assert_eq!(names_of(three_entries(again, last)), ["fgf", "fgf", "gfg"], "{again:x?}");
        }
    }
    // MEMOIZE counts what is stored: two numbers are taken, so it gives number 2 anew.
    let list = three_entries(b"h\x01\x940", b"h\x01h\x02h\x02");
    assert_eq!(names_of(list), ["fgf", "fgf", "fff"]);
}

#[test]
fn integers_of_every_length_are_read() {
    let near_the_end = |time: &[u8]| {
        pickle(&[
            b"}(",
            &text("device_traces"),
            b"]](}(",
            &text("action"),
            &text("alloc"),
            &text("time_us"),
            time,
            b"ueau",
        ])
    };
    for length in 0..=8_u8 {
        for byte in [0x00, 0x01, 0x7f, 0x80, 0xff] {
            let bytes = vec![byte; usize::from(length)];
            let fill = if byte >= 0x80 && length > 0 { 0xff } else { 0 };
            let mut whole = [fill; 8];
            whole[..bytes.len()].copy_from_slice(&bytes);
            let expected = i64::from_le_bytes(whole);
            for form in [
                [b"\x8a", [length].as_slice(), &bytes].concat(),
                [b"\x8b", u32::from(length).to_le_bytes().as_slice(), &bytes].concat(),
                format!("I{expected}\n").into_bytes(),
                format!("L{expected}L\n").into_bytes(),
                format!("L{expected}\n").into_bytes(),
                // Longer than it need be.
                [b"\x8a\x0a", whole.as_slice(), &[if expected < 0 { 0xff } else { 0 }; 2]].concat(),
            ] {
                let snapshot = read(near_the_end(&form)).unwrap();
                assert_eq!(snapshot.entries.time_us(0), Some(expected), "{form:x?}");
            }
        }
    }
    // Beyond 64 bits it is no time.
    for form in [
        &b"\x8a\x09\0\0\0\0\0\0\0\0\x01"[..],
        b"\x8a\x09\0\0\0\0\0\0\0\0\x80",
        b"L99999999999999999999L\n",
    ] {
        assert_eq!(read(near_the_end(form)).unwrap().entries.time_us(0), None, "{form:x?}");
    }
}

/// Texts longer than what is read at a time.
#[test]
fn long_texts_are_read_whole() {
    for length in [255, 256, 65_535, 65_536, 262_144, 300_000, 5_000_000] {
        let name = "z".repeat(length);
        for form in [text(&name), [b"V".as_slice(), name.as_bytes(), b"\n"].concat()] {
            if form[0] == b'V' && length > limits::LINE_BYTES {
                continue;
            }
            let bytes = pickle(&[
                b"}(",
                &text("device_traces"),
                b"]](}(",
                &text("action"),
                &text("alloc"),
                &text("user_metadata"),
                &form,
                b"ueau",
            ]);
            let snapshot = read(bytes).unwrap();
            let metadata = snapshot.entries.get(0).unwrap().user_metadata.unwrap();
            assert!(snapshot.texts.get(metadata) == name, "{length}");
        }
    }
}

#[test]
fn a_pickle_that_names_a_class_is_refused_by_name() {
    for (module, name, words) in [
        ("torch._utils", "_rebuild_tensor_v2", "checkpoint"),
        ("torch", "FloatStorage", "checkpoint"),
        ("collections", "OrderedDict", "state dict"),
        ("numpy.core.multiarray", "_reconstruct", "array"),
        ("pandas.core.frame", "DataFrame", "table"),
        ("posix", "system", "other Python objects"),
    ] {
        let line = format!("{module}\n{name}\n");
        for opcodes in [
            [b"c".as_slice(), line.as_bytes()].concat(),
            [b"(i".as_slice(), line.as_bytes()].concat(),
            [text(module), text(name), b"\x93".to_vec()].concat(),
            // Deep inside what begins like a snapshot.
            [b"}(".to_vec(), text("segments"), b"](c".to_vec(), line.clone().into_bytes()].concat(),
        ] {
            let bytes = pickle(&[&opcodes]);
            let error = refused(bytes.clone());
            assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
            let message = error.to_string();
            assert!(message.contains(words), "{message}");
            assert!(message.contains(&format!("{module}.{name}")), "{message}");
            assert!(message.contains("nothing in it is executed"), "{message}");
            assert!(error.offset().is_some_and(|offset| offset < bytes.len() as u64), "{error}");
        }
    }
}

#[test]
fn every_opcode_that_would_do_something_is_refused() {
    for (opcodes, word) in [
        (&b"N)R"[..], "REDUCE"),
        (b"(NNo", "OBJ"),
        (b"N)\x81", "NEWOBJ"),
        (b"N)}\x92", "NEWOBJ_EX"),
        (b"N}b", "BUILD"),
        (b"\x82\x01", "EXT"),
        (b"\x83\x01\x00", "EXT"),
        (b"\x84\x01\x00\x00\x00", "EXT"),
        (b"\x97", "NEXT_BUFFER"),
        (b"N\x98", "READONLY_BUFFER"),
        (b"P12\n", "checkpoint"),
        (b"K\x01Q", "checkpoint"),
        (b"N\x93", "?"),
    ] {
        let error = refused(pickle(&[opcodes]));
        let expected = if word == "?" { ErrorKind::Shape } else { ErrorKind::Unsupported };
        assert_eq!(error.kind(), expected, "{opcodes:x?}: {error}");
        assert!(word == "?" || error.to_string().contains(word), "{error}");
    }
    for opcode in [0x00, 0x01, b'!', 0x7f, 0x99, 0xff] {
        let error = refused(pickle(&[&[opcode]]));
        assert_eq!(error.kind(), ErrorKind::NotASnapshot, "{error}");
    }
    assert_refused(b"\x80\x06N.".to_vec(), ErrorKind::Unsupported, "protocol is 6");
}

/// What a file calls its keys and classes is told on one line that moves no terminal's cursor.
#[test]
fn the_words_of_a_file_cannot_break_a_message() {
    let name = "a\nb\u{1b}[2J\r".to_owned() + &"long".repeat(100_000);
    let line = format!("{}\n{}\n", name.replace('\n', "\u{85}"), "x".repeat(100_000));
    let class = [b"c".as_slice(), line.as_bytes()].concat();
    let stacked = [text(&name), text(&name), b"\x93".to_vec()].concat();
    let key = [b"}(".as_slice(), &text("segments"), b"}(", &text(&name), b"](K\x01u"].concat();
    let cut = [b"\x80\x02".as_slice(), b"}(", &text(&name), b"]("].concat();
    for bytes in [pickle(&[&class]), pickle(&[&stacked]), pickle(&[&key]), cut] {
        let message = refused(bytes).to_string();
        assert!(message.len() < 600 && !message.contains(char::is_control), "{message}");
    }
    let snapshot = read(one_block(b"", &[&text(&name)[..], b"N"].concat())).unwrap();
    let [warning] = snapshot.warnings.as_slice() else { panic!("{:?}", snapshot.warnings) };
    assert!(warning.first.starts_with("segments[0].blocks[0].a\\nb\\u{1b}"), "{}", warning.first);
    assert!(warning.first.len() < 200, "{}", warning.first);
}

/// Of a path that is a million steps long the first are told.
#[test]
fn a_long_path_is_told_in_short() {
    let cut = [b"\x80\x02".as_slice(), &b"](".repeat(1_000_000)].concat();
    let error = refused(cut);
    assert_eq!(error.path(), Some(&*("[0]".repeat(16) + "…")), "{error}");
}
