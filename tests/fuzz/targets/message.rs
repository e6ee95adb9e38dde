//! Any bytes as an error text: it is read, judged and told.
#![no_main]

use libfuzzer_sys::fuzz_target;
use oomscope::message::{read, text_from_bytes};
use oomscope::text::MessageText;
use oomscope::view::message::MessageReport;

fuzz_target!(|bytes: &[u8]| {
    let reading = read(&text_from_bytes(bytes));
    assert!(!reading.causes.is_empty());
    assert!(reading.main.is_none_or(|main| main < reading.messages.len()));
    let report = MessageReport::of(&reading);
    let _ = MessageText(&report).to_string();
    serde_json::to_string(&report).unwrap();
});
