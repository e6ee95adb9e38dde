//! Snapshots of any size, for measuring.
//!
//! A loop of training steps on one device, as CPython's pickler writes it: weights that stay, then
//! in each step activations from the first layer to the last and gradients back again, with stacks
//! of 30 to 60 frames that are spelled out by references, as in real files; gradients and completed
//! frees have none. About 100 bytes an entry; always the same bytes.

use std::io::{self, Write};

const LAYERS: u64 = 48;
const MIB: u64 = 1 << 20;
/// Bytes of a segment; each holds one weight, or one block of every step.
const SEGMENT: u64 = 20 * MIB;
const FRAMES: usize = 60;
const STACK_LEAST: usize = 30;

/// Writes opcodes of protocol 4 and counts what is memoised.
struct Pickle<W> {
    out: W,
    memoised: u32,
}

impl<W: Write> Pickle<W> {
    fn raw(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(bytes)
    }

    /// Writes an object for the first time; answers its number in the memo.
    fn memoised(&mut self, bytes: &[u8]) -> io::Result<u32> {
        self.raw(bytes)?;
        self.raw(b"\x94")?;
        self.memoised += 1;
        Ok(self.memoised - 1)
    }

    fn text(&mut self, text: &str) -> io::Result<u32> {
        let length = u8::try_from(text.len()).expect("the texts are short");
        self.memoised(&[b"\x8c", &[length][..], text.as_bytes()].concat())
    }

    fn recalled(&mut self, number: u32) -> io::Result<()> {
        match u8::try_from(number) {
            Ok(number) => self.raw(&[b'h', number]),
            Err(_) => self.raw(&[b"j", &number.to_le_bytes()[..]].concat()),
        }
    }

    fn number(&mut self, number: u64) -> io::Result<()> {
        match number {
            0..=0xff => self.raw(&[b'K', number as u8]),
            0x100..=0x7fff_ffff => self.raw(&[b"J", &(number as u32).to_le_bytes()[..]].concat()),
            _ => self.raw(&[&b"\x8a\x08"[..], &number.to_le_bytes()].concat()),
        }
    }
}

/// The numbers of the texts that every entry names.
struct Names {
    keys: [u32; 8],
    actions: [u32; 4],
    empty: u32,
}

/// Writes a snapshot of at most `wanted` entries, in whole steps; answers how many.
pub(crate) fn write(out: impl Write, wanted: u64) -> io::Result<u64> {
    let mut pickle = Pickle { out, memoised: 0 };
    pickle.raw(b"\x80\x04")?;
    pickle.memoised(b"}")?;
    pickle.raw(b"(")?;
    // A key that no reader knows holds what all entries share, so that its numbers are low ones.
    pickle.text("shared")?;
    pickle.memoised(b"]")?;
    pickle.raw(b"(")?;
    let (names, frames) = shared(&mut pickle)?;
    pickle.raw(b"e")?;
    segments(&mut pickle)?;
    pickle.text("device_traces")?;
    pickle.memoised(b"]")?;
    pickle.memoised(b"]")?;
    let mut trace = Trace { pickle, names, frames, written: 0, time_us: 1_700_000_000_000_000 };
    trace.write(wanted)?;
    trace.pickle.raw(b"au.")?;
    trace.pickle.out.flush()?;
    Ok(trace.written)
}

fn shared<W: Write>(pickle: &mut Pickle<W>) -> io::Result<(Names, Vec<u32>)> {
    let mut text = |text| pickle.text(text);
    let names = Names {
        keys: [
            text("action")?,
            text("addr")?,
            text("size")?,
            text("stream")?,
            text("time_us")?,
            text("compile_context")?,
            text("user_metadata")?,
            text("frames")?,
        ],
        actions: [
            text("alloc")?,
            text("free_requested")?,
            text("free_completed")?,
            text("segment_alloc")?,
        ],
        empty: text("")?,
    };
    let [name, filename, line] = [text("name")?, text("filename")?, text("line")?];
    let files =
        [text("/srv/train/model.py")?, text("/usr/lib/python3/torch/nn/modules/module.py")?];
    let mut frames = Vec::new();
    for frame in 0..FRAMES {
        frames.push(pickle.memoised(b"}")?);
        pickle.raw(b"(")?;
        pickle.recalled(name)?;
        // The outer frames are a training script's, the inner ones its layers', called by PyTorch.
        let (name, file) = match frame {
            0 => ("<module>", 0),
            1 => ("main", 0),
            2 => ("train_step", 0),
            _ if frame % 3 == 2 => ("forward", 0),
            _ => ("_call_impl", 1),
        };
        pickle.text(name)?;
        pickle.recalled(filename)?;
        pickle.recalled(files[file])?;
        pickle.recalled(line)?;
        pickle.number(10 + 7 * frame as u64)?;
        pickle.raw(b"u")?;
    }
    Ok((names, frames))
}

fn address(slot: u64) -> u64 {
    0x7f00_0000_0000 + slot * SEGMENT
}

/// A weight and an activation for each layer, and room for a gradient.
const SLOTS: u64 = 3 * LAYERS;

fn bytes_of(slot: u64) -> u64 {
    MIB * (2 + slot % 13) + 512 * (slot % 7)
}

fn segments<W: Write>(pickle: &mut Pickle<W>) -> io::Result<()> {
    pickle.text("segments")?;
    pickle.memoised(b"]")?;
    pickle.raw(b"(")?;
    for slot in 0..SLOTS {
        pickle.memoised(b"}")?;
        pickle.raw(b"(")?;
        let is_weight = slot < LAYERS;
        let held = if is_weight { bytes_of(slot) } else { 0 };
        for (key, value) in [
            ("device", 0),
            ("address", address(slot)),
            ("total_size", SEGMENT),
            ("allocated_size", held),
            ("active_size", held),
            ("requested_size", held),
            ("stream", 0),
        ] {
            pickle.text(key)?;
            pickle.number(value)?;
        }
        pickle.text("segment_type")?;
        pickle.text("large")?;
        pickle.text("blocks")?;
        pickle.memoised(b"]")?;
        pickle.raw(b"(")?;
        let mut blocks = vec![(address(slot) + held, SEGMENT - held, "inactive")];
        if is_weight {
            blocks.insert(0, (address(slot), held, "active_allocated"));
        }
        for (address, size, state) in blocks {
            pickle.memoised(b"}")?;
            pickle.raw(b"(")?;
            for (key, value) in [("address", address), ("size", size), ("requested_size", size)] {
                pickle.text(key)?;
                pickle.number(value)?;
            }
            pickle.text("state")?;
            pickle.text(state)?;
            pickle.raw(b"u")?;
        }
        pickle.raw(b"eu")?;
    }
    pickle.raw(b"e")
}

struct Trace<W> {
    pickle: Pickle<W>,
    names: Names,
    frames: Vec<u32>,
    written: u64,
    time_us: u64,
}

impl<W: Write> Trace<W> {
    fn write(&mut self, wanted: u64) -> io::Result<()> {
        self.pickle.raw(b"(")?;
        for slot in 0..SLOTS {
            self.entry(3, slot, SEGMENT, Some(2))?;
        }
        for slot in 0..LAYERS {
            self.entry(0, slot, bytes_of(slot), Some(1))?;
        }
        let step = LAYERS * 6;
        while self.written + step <= wanted {
            self.step()?;
        }
        self.pickle.raw(b"e")
    }

    fn step(&mut self) -> io::Result<()> {
        for layer in 0..LAYERS {
            self.entry(0, LAYERS + layer, bytes_of(LAYERS + layer), Some(layer))?;
        }
        for layer in (0..LAYERS).rev() {
            let (activation, gradient) = (LAYERS + layer, 2 * LAYERS + layer);
            // The backward pass runs on a thread without Python.
            self.entry(0, gradient, bytes_of(gradient), None)?;
            for slot in [activation, gradient] {
                self.entry(1, slot, bytes_of(slot), Some(layer))?;
                self.entry(2, slot, bytes_of(slot), None)?;
            }
        }
        Ok(())
    }

    fn entry(&mut self, action: usize, slot: u64, size: u64, stack: Option<u64>) -> io::Result<()> {
        self.time_us += 7;
        self.written += 1;
        // Lists and dicts come in batches of a thousand.
        if self.written.is_multiple_of(1000) {
            self.pickle.raw(b"e(")?;
        }
        let Trace { pickle, names, frames, time_us, .. } = self;
        let [action_key, addr, size_key, stream, time, context, metadata, frames_key] = names.keys;
        pickle.memoised(b"}")?;
        pickle.raw(b"(")?;
        pickle.recalled(action_key)?;
        pickle.recalled(names.actions[action])?;
        for (key, value) in [(addr, address(slot)), (size_key, size), (stream, 0), (time, *time_us)]
        {
            pickle.recalled(key)?;
            pickle.number(value)?;
        }
        for key in [context, metadata] {
            pickle.recalled(key)?;
            pickle.recalled(names.empty)?;
        }
        pickle.recalled(frames_key)?;
        pickle.memoised(b"]")?;
        if let Some(stack) = stack {
            let stack = stack as usize;
            let depth = STACK_LEAST + stack % (FRAMES - STACK_LEAST);
            pickle.raw(b"(")?;
            // Innermost first.
            for frame in (0..depth).rev() {
                pickle.recalled(frames[frame])?;
            }
            pickle.raw(b"e")?;
        }
        pickle.raw(b"u")
    }
}
