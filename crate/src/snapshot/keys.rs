//! The keys that PyTorch writes, as fixed text ids: each decoder's table starts with them, so that
//! a key is compared as a number.

use crate::pickle::TextId;

macro_rules! keys {
    ($($name:ident = $text:literal),* $(,)?) => {
        #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
        #[repr(u32)]
        enum Place { $($name),* }
        $(pub(super) const $name: TextId = TextId(Place::$name as u32);)*
        /// The texts, by id.
        pub(super) const TEXTS: &[&str] = &[$($text),*];
    };
}

keys! {
    ACTION = "action", ADDR = "addr", ADDRESS = "address", DEVICE_FREE = "device_free", SIZE = "size", STREAM = "stream",
    TIME_US = "time_us", COMPILE_CONTEXT = "compile_context", USER_METADATA = "user_metadata", POOL_ID = "pool_id",
    INTERNAL_METADATA = "internal_metadata", FRAMES = "frames", FORWARD_FRAMES = "forward_frames", CATEGORY = "category",
    NAME = "name", FILENAME = "filename", LINE = "line", FX_NODE_OP = "fx_node_op", FX_NODE_NAME = "fx_node_name",
    FX_NODE_TARGET = "fx_node_target", FX_NODE_INFO = "fx_node_info", FX_ORIGINAL_TRACE = "fx_original_trace",
    DEVICE = "device", TOTAL_SIZE = "total_size", ALLOCATED_SIZE = "allocated_size", ACTIVE_SIZE = "active_size",
    REQUESTED_SIZE = "requested_size", SEGMENT_TYPE = "segment_type", SEGMENT_POOL_ID = "segment_pool_id",
    IS_EXPANDABLE = "is_expandable", BLOCKS = "blocks", STATE = "state", HISTORY = "history", REAL_SIZE = "real_size",
    STAGE = "stage", SEGMENTS = "segments", DEVICE_TRACES = "device_traces",
    ALLOCATOR_SETTINGS = "allocator_settings", EXTERNAL_ANNOTATIONS = "external_annotations",
    HOST_SEGMENTS = "host_segments", HOST_TRACES = "host_traces", START = "START", NOT_APPLICABLE = "N/A", NOTHING = "",
}
