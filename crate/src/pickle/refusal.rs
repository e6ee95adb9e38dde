//! What a pickle that names classes or asks for foreign objects probably is.

use crate::error::{Error, ErrorKind, shown};

/// The refusal of a pickle that names `module.name`.
#[cold]
pub(super) fn global(module: &str, name: &str) -> Error {
    let guess = match (module, name) {
        ("collections", "OrderedDict") => "a state dict, or what torch.cuda.memory_stats() returns",
        (module, _) if module.starts_with("torch") => {
            "a model checkpoint or other objects saved by PyTorch"
        }
        (module, _) if module.starts_with("numpy") || module.starts_with("pandas") => {
            "an array or a table"
        }
        _ => "a pickle of other Python objects",
    };
    let (module, name) = (shown(module), shown(name));
    Error::new(
        ErrorKind::Unsupported,
        format!(
            "this pickle names {module}.{name}, so it is {guess}, not a memory snapshot, and nothing in it is executed"
        ),
    )
}

/// The refusal of an opcode that builds objects, named as in `pickletools`.
#[cold]
pub(super) fn object(opcode: &str) -> Error {
    Error::new(
        ErrorKind::Unsupported,
        format!(
            "this pickle builds Python objects ({opcode}), which a memory snapshot never does, and nothing in it is executed"
        ),
    )
}

/// The refusal of a reference to objects outside the pickle.
#[cold]
pub(super) fn persistent() -> Error {
    Error::new(
        ErrorKind::Unsupported,
        "this pickle refers to tensors stored beside it, so it is a model checkpoint, not a memory snapshot",
    )
}

/// The refusal of out-of-band buffers and registered extensions.
#[cold]
pub(super) fn outside(opcode: &str) -> Error {
    Error::new(
        ErrorKind::Unsupported,
        format!(
            "this pickle needs data from outside the file ({opcode}), which a memory snapshot never does"
        ),
    )
}
