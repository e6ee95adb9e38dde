#!/usr/bin/env python3
"""Writes small snapshots in every layout that PyTorch had, each in every form that a reader may meet.

    write_pickles.py [--into FOLDER] [LAYOUT…]

Each file is named LAYOUT/FORM and comes with its outermost wrapping and its protocol. LAYOUT/expected
is what the snapshot says, as lines of text, worked out here from the Python objects alone. Without a
folder all goes to the standard output, each file after a line `NAME WRAPPING PROTOCOL LENGTH`.

The standard library only, no clock, no chance: the same files each time.
"""

import base64
import gzip
import io
import json
import lzma
import math
import pathlib
import pickle
import pickletools
import struct
import sys
import zipfile

BASE = 0x7F00_0000_0000
MIB = 1 << 20
T0 = 1_750_000_000_000_000
U64 = (1 << 64) - 1


# --- the C++ writer ---------------------------------------------------------------------------


class CppPickler:
    """The bytes that PyTorch's C++ pickler writes for a snapshot (`_memory_snapshot_pickled`).

    Protocol 2 without batches: a dict is `}(…u` and a list `](…e`, however long. Texts are shared
    by value, lists and dicts by identity and only when referred to more than once, and those are
    stored after they are complete. Integers beyond 32 bits take eight signed bytes. A text may be
    given as `bytes`: the writer copies names as they are, whatever they contain.
    """

    KEYS = ("action addr device_free size stream compile_context user_metadata time_us pool_id "
            "internal_metadata frames").split()

    def __init__(self, value):
        self.out = bytearray(b"\x80\x02")
        self.stored = 0
        self.texts = {}
        self.containers = {}
        self.references = {}
        self.count(value)
        self.write(value)
        self.out += b"."

    def count(self, value):
        if isinstance(value, (list, dict)):
            self.references[id(value)] = self.references.get(id(value), 0) + 1
            if self.references[id(value)] > 1:
                return
            for item in value.values() if isinstance(value, dict) else value:
                self.count(item)

    def put(self):
        number = self.stored
        self.stored += 1
        self.out += b"q" + bytes([number]) if number < 256 else b"r" + struct.pack("<I", number)
        return number

    def get(self, number):
        self.out += b"h" + bytes([number]) if number < 256 else b"j" + struct.pack("<I", number)

    def write(self, value):
        match value:
            case None:
                self.out += b"N"
            case bool():
                self.out += b"\x88" if value else b"\x89"
            case int():
                self.integer(value)
            case float():
                self.out += b"G" + struct.pack(">d", value)
            case str():
                self.text(value.encode("utf-8", "surrogatepass"))
            case bytes():
                self.text(value)
            case tuple():
                self.tuple(value)
            case _:
                self.container(value)

    def tuple(self, value):
        short = {0: b")", 1: b"\x85", 2: b"\x86", 3: b"\x87"}.get(len(value))
        if short is None:
            self.out += b"("
        for item in value:
            self.write(item)
        self.out += short or b"t"

    def integer(self, value):
        if 0 <= value < 1 << 8:
            self.out += b"K" + bytes([value])
        elif 0 <= value < 1 << 16:
            self.out += b"M" + struct.pack("<H", value)
        elif -1 << 31 <= value < 1 << 31:
            self.out += b"J" + struct.pack("<i", value)
        else:
            self.out += b"\x8a\x08" + struct.pack("<Q", value & U64)

    def text(self, raw):
        if raw in self.texts:
            self.get(self.texts[raw])
        else:
            self.out += b"X" + struct.pack("<I", len(raw)) + raw
            self.texts[raw] = self.put()

    def container(self, value):
        if id(value) in self.containers:
            self.get(self.containers[id(value)])
            return
        if isinstance(value, dict):
            self.out += b"}("
            order = list(value)
            if "action" in value:
                order.sort(key=lambda key: self.KEYS.index(key) if key in self.KEYS else len(self.KEYS))
            for key in order:
                self.write(key)
                self.write(value[key])
            self.out += b"u"
        else:
            self.out += b"]("
            for item in value:
                self.write(item)
            self.out += b"e"
        if self.references[id(value)] > 1:
            self.containers[id(value)] = self.put()


# --- what a snapshot says ---------------------------------------------------------------------


def readable(value):
    """A text as a reader shows it: bytes that are no UTF-8, lone surrogates too, stand as U+FFFD."""
    raw = value if isinstance(value, bytes) else value.encode("utf-8", "surrogatepass")
    return raw.decode("utf-8", "replace").replace("\\", "\\\\").replace("\n", "\\n")


def stack_text(record):
    frames = record.get("frames")
    if frames is None:
        return "absent"
    lines = [
        f"{readable(frame.get('name', ''))} at {readable(frame.get('filename', ''))}"
        f":{frame.get('line', 0) if 0 <= frame.get('line', 0) < 1 << 32 else 0}"
        for frame in frames
    ]
    return "[" + " | ".join(lines) + "]"


def pool_text(pool):
    return f"{pool[0]},{pool[1]}"


def said(text):
    return "-" if text in (None, "", "N/A") else readable(text)


STATES = {"active_allocated": "allocated", "active_pending_free": "pending",
          "active_awaiting_free": "pending", "inactive": "inactive"}
ACTIONS = ("alloc free_requested free_completed segment_alloc segment_free segment_map segment_unmap "
           "snapshot oom annotate").split()


def describe(snapshot, warnings):
    """Every fact that the reader keeps, a line each."""
    if isinstance(snapshot, list):
        snapshot = {"segments": snapshot}
    for segment in snapshot.get("segments", []):
        blocks = segment.get("blocks", [])
        total = segment.get("total_size", sum(int(block["size"]) for block in blocks))
        yield (
            f"segment device={segment.get('device', 0)} address={segment['address'] & U64:#x} total={total}"
            f" stream={segment.get('stream', 0) & U64:#x} small={segment.get('segment_type') == 'small'}"
            f" pool={pool_text(segment.get('segment_pool_id', (0, 0)))}"
            f" expandable={segment.get('is_expandable', False)} stack={stack_text(segment)}"
        )
        next_address = segment["address"] & U64
        for block in blocks:
            address = block.get("address", next_address) & U64
            size = int(block["size"])
            next_address = address + size
            state = STATES.get(block["state"], "allocated")
            owner = (block.get("history") or [{}])[0]
            requested = block.get("requested_size", owner.get("real_size", size))
            stack = stack_text(owner if "frames" not in block and state != "inactive" else block)
            # What an inactive block requested is left from its former life.
            yield (f"  block address={address:#x} size={size} state={state}"
                   f" requested={'-' if state == 'inactive' else requested} stack={stack}")
    for device, trace in enumerate(snapshot.get("device_traces", [])):
        yield f"trace {device}"
        for entry in trace:
            action = {"workspace_snapshot": "snapshot"}.get(entry["action"], entry["action"])
            yield (
                f"  {action if action in ACTIONS else 'other'}"
                f" address={entry.get('addr', entry.get('device_free', 0)) & U64:#x} size={entry['size']}"
                f" stream={entry.get('stream', 0) & U64:#x} time={entry.get('time_us', '-')}"
                f" pool={pool_text(entry['pool_id']) if 'pool_id' in entry else '-'}"
                f" compiled={said(entry.get('compile_context'))} metadata={said(entry.get('user_metadata'))}"
                f" stack={stack_text(entry)}"
            )
    for annotation in snapshot.get("external_annotations", []):
        device = annotation.get("device", -1)
        yield (f"annotation start={annotation['stage'] == 'START'} device={device if device >= 0 else '-'}"
               f" time={annotation['time_us']} name={readable(annotation['name'])}")
    if "allocator_settings" in snapshot:
        settings = snapshot["allocator_settings"]
        limit = settings.get("max_split_size", -1)
        divisions = [0] * 16
        for mebibytes, value in settings.get("roundup_power2_divisions", {}).items():
            place = int(math.log2(int(mebibytes)))
            if place < 16:
                divisions[place] = value
        yield (f"settings conf={readable(settings.get('PYTORCH_CUDA_ALLOC_CONF', ''))}"
               f" max_split={limit if limit >= 0 else '-'}"
               f" gc={settings.get('garbage_collection_threshold', 0.0)}"
               f" expandable={settings.get('expandable_segments', False)}"
               f" roundup={','.join(map(str, divisions))}")
    yield f"pinned {sum(segment['active_size'] for segment in snapshot.get('host_segments', []))}"
    for kind, count in sorted(warnings.items()):
        yield f"warning {kind} {count}"


# --- parts of snapshots -----------------------------------------------------------------------


def frame(name, filename="/home/me/train.py", line=1, **more):
    return {"name": name, "filename": filename, "line": line, **more}


USER = frame("<module>", line=40)
FORWARD = frame("forward", "/home/me/model.py", 12)
MALLOC = frame("c10::cuda::CUDACachingAllocator::Native::NativeCachingAllocator::malloc(void**, int, unsigned long, CUstream_st*)", "??", 0)
STACK = [MALLOC, FORWARD, USER]
OTHER_STACK = [MALLOC, frame("step", "/home/me/train.py", 33), USER]
NOTHING = []


def block(address, size, state="active_allocated", requested=None, frames=NOTHING, **more):
    return {"address": address, "size": size, "requested_size": size if requested is None else requested,
            "state": state, "frames": frames, **more}


def segment(blocks, address=BASE, device=0, frames=NOTHING, **more):
    size_of = lambda *states: sum(block["size"] for block in blocks if block["state"] in states)
    return {
        "device": device,
        "address": address,
        "total_size": sum(block["size"] for block in blocks),
        "allocated_size": size_of("active_allocated"),
        "active_size": size_of("active_allocated", "active_pending_free", "active_awaiting_free"),
        "requested_size": sum(block.get("requested_size", 0) for block in blocks if block["state"] != "inactive"),
        "stream": 0,
        "segment_type": "large",
        "segment_pool_id": (0, 0),
        "is_expandable": False,
        "frames": frames,
        "blocks": blocks,
        **more,
    }


def entry(action, address, size, time=None, frames=None, stream=0, **more):
    made = {"action": action, "device_free" if action == "oom" else "addr": address, "size": size, "stream": stream}
    if time is not None:
        made["time_us"] = T0 + time
    made.update(more)
    if frames is not None:
        made["frames"] = frames
    return made


def plain_trace(**more):
    return [
        entry("segment_alloc", BASE, 20 * MIB, frames=STACK, **more),
        entry("alloc", BASE, 5_000_000, frames=STACK, **more),
        entry("alloc", BASE + 5_000_192, 3_000_000, frames=OTHER_STACK, **more),
        entry("free_requested", BASE + 5_000_192, 3_000_000, frames=OTHER_STACK, **more),
        entry("free_completed", BASE + 5_000_192, 3_000_000, frames=OTHER_STACK, **more),
        entry("oom", 1_048_576, 90_000_384, frames=STACK, **more),
    ]


def plain_segment(**more):
    return segment(
        [block(BASE, 5_000_192, requested=5_000_000, frames=STACK),
         block(BASE + 5_000_192, 15_971_328, "inactive", 777)],
        frames=STACK, **more)


def allocator_settings(**more):
    return {
        "PYTORCH_CUDA_ALLOC_CONF": "max_split_size_mb:128,garbage_collection_threshold:0.75",
        "max_split_size": 128 * MIB,
        "garbage_collection_threshold": 0.75,
        "expandable_segments": False,
        "pinned_num_register_threads": 1,
        "release_lock_on_cudamalloc": False,
        "pinned_use_cuda_host_register": False,
        "roundup_power2_divisions": {str(1 << power): power % 5 for power in range(16)},
        **more,
    }


def annotation(stage, name, time, device=0):
    return {"stage": stage, "name": name, "device": device, "time_us": T0 + time}


ANNOTATIONS = [
    annotation("END", "Optimizer.step#AdamW.step", 0),
    annotation("START", "ProfilerStep#1", 1),
    annotation("END", "ProfilerStep#1", 9, device=1),
    annotation("START", "## step 2 ##", 10, device=-1),
]


# --- layouts ----------------------------------------------------------------------------------

LAYOUTS = {}


def layout(**options):
    """Registers a layout under its function's name. Options: `warnings`; `cpp`, `json` and
    `protocols`, what can say it; `large`, to leave out forms that take Python long."""
    def register(make):
        usual = {"warnings": {}, "cpp": True, "json": True, "protocols": range(6), "large": False}
        LAYOUTS[make.__name__] = (make, {**usual, **options})
        return make
    return register


@layout()
def small():
    """The one that is damaged byte by byte: every record that there is, in few bytes."""
    frames = [frame("f", "a.py", 7)]
    return {
        "segments": [segment([block(BASE, 1024, requested=700, frames=frames),
                              block(BASE + 1024, 2 * MIB - 1024, "inactive", 0)], segment_type="small")],
        "device_traces": [[
            entry("segment_alloc", BASE, 2 * MIB, 0),
            entry("alloc", BASE, 700, 1, frames, pool_id=(0, 0)),
            entry("alloc", BASE + 1024, 300, 2, frames),
            entry("free_requested", BASE + 1024, 300, 3),
            entry("free_completed", BASE + 1024, 300, 4),
            entry("oom", 5, 1 << 33, 5, frames),
        ]],
        "allocator_settings": {"PYTORCH_CUDA_ALLOC_CONF": "", "max_split_size": -1,
                               "garbage_collection_threshold": 0.5, "expandable_segments": False,
                               "roundup_power2_divisions": {"1": 0}},
        "external_annotations": [annotation("START", "s", 0)],
    }


@layout()
def v1_12():
    """A list of segments; blocks have a size and a state."""
    made = {key: value for key, value in plain_segment().items()
            if key in ("device", "address", "total_size", "allocated_size", "active_size", "segment_type")}
    made["blocks"] = [{"size": 5_000_192, "state": "active_allocated"}, {"size": 15_971_328, "state": "inactive"}]
    return [made]


def with_history():
    made = {key: value for key, value in plain_segment().items()
            if key in ("device", "address", "total_size", "allocated_size", "active_size", "stream", "segment_type")}
    made["blocks"] = [
        {"size": 5_000_192, "state": "active_allocated",
         "history": [{"addr": BASE, "real_size": 5_000_000, "frames": STACK},
                     {"addr": BASE, "real_size": 4_000_000, "frames": OTHER_STACK}]},
        {"size": 512, "state": "active_allocated", "history": [{"addr": BASE + 5_000_192, "real_size": 10}]},
        {"size": 512, "state": "active_allocated"},
        {"size": 15_970_304, "state": "inactive",
         "history": [{"addr": BASE + 5_001_216, "real_size": 9_000_000, "frames": OTHER_STACK}]},
    ]
    made["allocated_size"] = made["active_size"] = 5_001_216
    return made


@layout()
def v1_13():
    """A list of segments; blocks have a history."""
    return [with_history()]


@layout()
def v2_0():
    """A dict with traces of one entry, histories with C++ stacks as one text, requested sizes."""
    made = with_history()
    made["requested_size"] = 5_000_522
    made["blocks"][0]["requested_size"] = 4_999_999
    made["blocks"][0]["history"][0]["cpp_frames"] = "#0 c10::raw_alloc\n#1 at::empty\n"
    return {"segments": [made], "device_traces": [[entry("free_completed", BASE + 5_001_216, 9_000_000, frames=STACK)], []]}


@layout()
def v2_1():
    """Blocks have addresses and frames, segments pools and stacks; entries have no time."""
    return {"segments": [plain_segment()], "device_traces": [plain_trace()]}


@layout()
def v2_3():
    """Times and settings. Frames come after the blocks where there are any."""
    made = plain_segment()
    made["frames"] = made.pop("frames")
    return {"segments": [made], "device_traces": [plain_trace(time=5)], "allocator_settings": allocator_settings()}


@layout()
def v2_5():
    return {"segments": [plain_segment()], "device_traces": [plain_trace(time=5), []],
            "allocator_settings": allocator_settings(expandable_segments=True),
            "external_annotations": ANNOTATIONS}


@layout()
def v2_12():
    """Compile contexts, metadata, pools, FX origins on frames, forward frames."""
    fx = frame("forward", "<eval_with_key>.12", 9, fx_node_op="call_function", fx_node_name="mm", fx_node_target="aten.mm",
               fx_node_info="…", fx_original_trace="model.py:12")
    trace = plain_trace(time=5, compile_context="N/A", user_metadata="", pool_id=(0, 0))
    trace[1].update(compile_context="Torch-Compiled Region: 0/0", user_metadata='{"step": 3}', frames=[fx, USER])
    trace[2].update(user_metadata="step=1", pool_id=(0, 7), forward_frames=["model.py:1 forward", "train.py:2 main"])
    made = plain_segment(forward_frames=["model.py:1 forward"])
    made["blocks"][0]["forward_frames"] = ["model.py:1 forward"]
    return {"segments": [made, segment([block(BASE + (1 << 30), 2 * MIB, "active_pending_free", 2_000_000)],
                                       BASE + (1 << 30), segment_pool_id=(3, 0), stream=94_000_000_000_000)],
            "device_traces": [trace], "allocator_settings": allocator_settings(), "external_annotations": []}


@layout()
def v2_15():
    """Pinned host memory, labels from inside the allocator, annotated allocations."""
    host = [segment([block(BASE - 8192, 4096, frames=STACK)], BASE - 8192, -1, segment_type="small", frames=STACK),
            segment([block(BASE - 4096, 4096, "inactive")], BASE - 4096, -1, segment_type="small")]
    trace = plain_trace(time=5, compile_context="N/A", user_metadata="", pool_id=(0, 0))
    trace[1]["internal_metadata"] = "mallocWithAddress"
    trace.insert(2, entry("annotate", BASE, 5_000_000, 6, STACK, compile_context="N/A", user_metadata="the big one"))
    return {"segments": [plain_segment()], "device_traces": [trace], "allocator_settings": allocator_settings(),
            "external_annotations": [], "host_segments": host,
            "host_traces": [entry("segment_alloc", BASE - 8192, 4096, 1), entry("alloc", BASE - 8192, 4096, 2)]}


@layout()
def expandable():
    start = BASE + 4 * MIB
    return {
        "segments": [
            segment([block(start, 2 * MIB), block(start + 2 * MIB, 38 * MIB, "inactive", 0)], start,
                    is_expandable=True, stream=7),
            segment([block(BASE + (1 << 40), 20 * MIB)], BASE + (1 << 40), is_expandable=True,
                    segment_pool_id=(12, 0), segment_type="small"),
        ],
        "device_traces": [[
            entry("segment_map", start, 20 * MIB, 1, STACK, stream=7),
            entry("segment_map", start + 20 * MIB, 40 * MIB, 2, STACK, stream=7),
            entry("alloc", start, 2 * MIB, 3, STACK, stream=7),
            entry("segment_unmap", start + 40 * MIB, 20 * MIB, 4, STACK, stream=7),
            entry("snapshot", 0, 2 * MIB, 5),
        ]],
    }


@layout()
def two_devices():
    """One list of segments for both, stacks shared between them, a third device that is idle."""
    traces = [plain_trace(time=5), plain_trace(time=6), [entry("snapshot", 0, 0, 9)]]
    return {"segments": [plain_segment(device=1), plain_segment(), segment([block(BASE + 64 * MIB, 2 * MIB)], BASE + 64 * MIB, 1)],
            "device_traces": traces, "allocator_settings": {}, "external_annotations": []}


@layout()
def sharing():
    """The same Python objects in many places: one empty list, one trace for two devices, one
    entry twice, one block in two segments."""
    shared = block(BASE, 2 * MIB, frames=STACK)
    del shared["address"]
    trace = plain_trace(time=5)
    trace.append(trace[0])
    return {
        "segments": [segment([shared], frames=NOTHING), segment([shared], BASE + 2 * MIB, frames=STACK)],
        "device_traces": [trace, NOTHING, trace],
        "external_annotations": NOTHING,
        "host_segments": NOTHING,
    }


@layout(warnings={"blocks_do_not_fill_segment": 1})
def synthetic():
    """As other tools write them: traces first, keys missing, the state that only the documentation
    names, whole numbers as fractions, sizes that do not add up."""
    made = {"address": BASE, "blocks": [
        {"size": 1024, "state": "active_awaiting_free"},
        {"size": 1024.0, "state": "inactive"},
    ]}
    short = {"address": BASE + MIB, "total_size": 4096, "blocks": [{"size": 2048, "state": "active_allocated"}]}
    return {
        "device_traces": [[
            {"action": "alloc", "addr": BASE, "size": 1000, "category": "unknown", "device": 0,
             "frames": [frame("aten::mm", "none", 0)]},
            {"action": "free_completed", "addr": BASE, "size": 1000},
            {"action": "workspace_snapshot", "addr": 0, "size": 0},
        ]],
        "segments": [made, short],
    }


@layout(warnings={"unknown_key": 10, "unknown_action": 2, "unknown_state": 1}, cpp=False)
def unknown():
    """What next year's PyTorch may add: keys with values of any kind, actions, states."""
    huge = 1 << 70
    made = plain_segment(numa_node=huge)
    made["blocks"][0]["future"] = {"a": [1, {"b": None}], "c": -huge}
    made["blocks"][1]["state"] = "active_migrating"
    # A block in an unknown state counts as allocated.
    made["active_size"] = made["allocated_size"] = 20 * MIB
    trace = plain_trace(time=5)
    trace[0]["action"] = "segment_teleport"
    trace[1]["huge"] = huge
    trace[2]["flag"] = True
    trace[3]["fraction"] = 0.1
    trace[4]["nothing"] = None
    trace.append({"action": "user_defined", "addr": 0, "size": 0, "stream": 0})
    return {"segments": [made], "device_traces": [trace],
            "external_annotations": [{**ANNOTATIONS[0], "thread": "7"}],
            "allocator_settings": {"PYTORCH_CUDA_ALLOC_CONF": "", "new_setting": [1, 2, {"x": huge}]},
            "written_by": ["a tool", {"of": "mine"}],
            "more": frame("f", column=3)}


def extra(**more):
    return {"segments": [plain_segment()], "device_traces": [], **more}


@layout(warnings={"unknown_key": 2})
def tuples():
    return extra(tuples=[(1,), (1, 2), (1, 2, 3), (1, 2, 3, 4), ("a", "b"), (None, True)], none=())


# Earlier protocols call `_codecs.encode`, `set` and `bytearray` for these, and are refused.
@layout(warnings={"unknown_key": 1}, cpp=False, json=False, protocols=range(3, 6))
def byte_strings():
    return extra(bytes=[b"", b"abc", b"x" * 300])


@layout(warnings={"unknown_key": 1}, cpp=False, json=False, protocols=range(4, 6))
def sets():
    return extra(sets=[set(), {1, 2}, frozenset(), frozenset({("a", 1)})])


@layout(warnings={"unknown_key": 1}, cpp=False, json=False, protocols=range(5, 6))
def byte_arrays():
    return extra(arrays=[bytearray(), bytearray(b"de")])


@layout()
def extremes():
    """Numbers at the ends of their ranges."""
    high = (1 << 63) + 4096
    frames = [frame("torch::unwind::unwind()", "??", U64), frame("f", "", -1), frame("g", "a.py", (1 << 32) - 1),
              frame("h", "a.py", 65_536), frame("", "", 0)]
    top = U64 - 2 * MIB + 1
    return {
        "segments": [segment([block(high, 4096, frames=frames)], high, stream=(1 << 63) + 1, segment_pool_id=(U64, 1 << 40)),
                     segment([block(top, MIB, requested=0)], top, stream=1 << 31),
                     segment([block(1 << 46, 1 << 41)], 1 << 46, device=1023)],
        "device_traces": [[
            entry("alloc", high, 4000, 1, frames, (1 << 63) + 1, pool_id=(U64, 1 << 40)),
            entry("alloc", top, 255, 256, stream=1 << 31),
            entry("free_requested", top, 0, -T0),
            entry("oom", 0, 1 << 60, 1 << 40),
            *[entry("snapshot", 0, size, 0) for size in (1, 255, 256, 65_535, 65_536, (1 << 31) - 1, 1 << 31, 1 << 32, 1 << 40, 1 << 59)],
        ]],
    }


ODD_NAMES = [
    "", "a", "x" * 255, "x" * 256, "na\u00efve", "\u5173\u952e", "\U0001f525", "tab\there", "line\nfeed",
    "carriage\rreturn", "null\0byte", "back\\slash", "\\u0041 is no A", "\\U0001f525", "quote'\"", "\u2028", "\x1a", "\x7f\x80\xff", "</script>",
]


@layout()
def names():
    frames = [frame(name, f"/tmp/{name}.py", line) for line, name in enumerate(ODD_NAMES)]
    trace = [entry("alloc", BASE + 4096 * place, 4096, place, frames[place:place + 2], compile_context=name, user_metadata=name[::-1])
             for place, name in enumerate(ODD_NAMES)]
    frames.append(frame("y" * 70_000))
    return {"segments": [segment([block(BASE, 4096 * len(ODD_NAMES), frames=frames)])], "device_traces": [trace],
            "external_annotations": [annotation("START", name, place) for place, name in enumerate(ODD_NAMES)]}


@layout()
def surrogates():
    """Names that Python made of bytes that are no UTF-8 (`surrogateescape`), and halves of pairs in
    the wrong order; in the right one JSON would join them."""
    frames = [frame("caf\udce9", "/home/caf\udce9/a.py"), frame("\ud83d", "a.py"), frame("caf\ufffd", "a.py")]
    return {"segments": [segment([block(BASE, 4096, frames=frames)])],
            "device_traces": [[entry("alloc", BASE, 4096, 1, frames, user_metadata="\ude00\ud83d")]]}


@layout()
def invalid_utf8():
    """The C++ writer copies names as they are."""
    frames = [frame(b"caf\xe9", b"/home/\xff\xfe/a.py"), frame(b"\xf0\x9f\x94", b"cut.py"), frame(b"\xed\xa0\x80\x80", b"")]
    return {"segments": [segment([block(BASE, 4096, frames=frames)])],
            "device_traces": [[entry("alloc", BASE, 4096, 1, frames, user_metadata=b"\xc0\x80")]]}


@layout(large=True)
def deep_stack():
    """Recursion: one frame 1,500 times, and stacks around the length of a batch."""
    again = frame("visit", "tree.py", 5)
    frames = [MALLOC, *[again] * 1500, USER]
    trace = [entry("alloc", BASE + 512 * place, 512, place, [again] * length + [USER])
             for place, length in enumerate((999, 1000))]
    return {"segments": [segment([block(BASE, 4096, frames=frames)])], "device_traces": [trace]}


@layout(large=True)
def batches():
    """Lists and dicts around the 1,000 items that Python writes at a time."""
    counts = (1, 2, 999, 1000, 1001, 2000, 2001)
    made, address = [], BASE
    for count in (1, 1000, 1001):
        made.append(segment([block(address + 512 * place, 512) for place in range(count)], address))
        address += 512 * count
    return {
        "segments": made,
        "device_traces": [[{"action": "alloc", "addr": BASE + place, "size": place % 600} for place in range(count)]
                          for count in counts],
        "external_annotations": [annotation("START", f"range {place % 7}", place) for place in range(1001)],
        "allocator_settings": allocator_settings(
            **{f"table_of_{count}": {f"key {place}": place for place in range(count)} for count in counts}),
    }


@layout(large=True)
def thousand_segments():
    return {"segments": [segment([block(BASE + 512 * place, 512)], BASE + 512 * place) for place in range(1000)]}


@layout()
def one_key():
    return {"segments": []}


@layout()
def one_trace():
    return {"device_traces": [[entry("snapshot", 0, 0)]]}


@layout()
def no_memory():
    return {"segments": [], "device_traces": [], "allocator_settings": allocator_settings(), "external_annotations": []}


@layout()
def never_recorded():
    return {"segments": [plain_segment()], "device_traces": [[], [], []]}


@layout()
def empty_list():
    return []


# --- forms ------------------------------------------------------------------------------------


def rebuilt(value, change):
    """A copy without any sharing, each dict and tuple passed through `change`."""
    match value:
        case dict():
            return change({key: rebuilt(item, change) for key, item in value.items()})
        case list():
            return [rebuilt(item, change) for item in value]
        case tuple():
            return change(tuple(rebuilt(item, change) for item in value))
        case _:
            return value


def unshared(value):
    return rebuilt(value, lambda made: made)


def reversed_keys(value):
    return rebuilt(value, lambda made: dict(reversed(made.items())) if isinstance(made, dict) else made)


def lists_for_tuples(value):
    return rebuilt(value, lambda made: list(made) if isinstance(made, tuple) else made)


def decoded(value):
    """Byte strings as the texts that a reader makes of them, for the writers that have only texts."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, dict):
        return {key: decoded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [decoded(item) for item in value]
    return value


def without_memo(value, protocol):
    out = io.BytesIO()
    pickler = pickle.Pickler(out, protocol)
    pickler.fast = True
    pickler.dump(value)
    return out.getvalue()


def zipped(files, method, level=None):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method, compresslevel=level) as archive:
        for name, content in files:
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), content, method)
    return out.getvalue()


def saved(value, method):
    """As `torch.save` does it."""
    return zipped([("snapshot/data.pkl", pickle.dumps(value, 2)), ("snapshot/byteorder", b"little"),
                   ("snapshot/version", b"3\n"), ("snapshot/.data/serialization_id", b"0" * 40)], method)


def saved_before_1_6(value):
    parts = [0x1950A86A20F9469CFC6C, 1001, {"protocol_version": 1001, "little_endian": True,
             "type_sizes": {"short": 2, "int": 4, "long": 4}}, value, []]
    return b"".join(pickle.dumps(part, 2) for part in parts)


def page(pickled):
    """As PyTorch's `_memory_viz.py` does it: padded with zero bytes, in base64."""
    padded = pickled + b"\0" * (3 - len(pickled) % 3)
    files = json.dumps([{"name": "snapshot.pickle", "base64": base64.b64encode(padded).decode()}])
    return f"""
<!DOCTYPE html>
<html>
<head>
</head>
<body>
<script type="module">
import {{add_local_files}} from "https://cdn.jsdelivr.net/gh/pytorch/pytorch@main/torch/utils/viz/MemoryViz.js"
const local_files = {files}
add_local_files(local_files, "Active Memory Timeline")
</script>
</body>
""".encode()


def gzipped(content):
    return gzip.compress(content, mtime=0)


def forms(value, cpp, json_too, protocols, large):
    """Every form: a name, the outermost wrapping, the protocol (0 where none is announced), bytes."""
    if cpp:
        yield "cpp", "pickle", 2, bytes(CppPickler(value).out)
        yield "cpp.unshared", "pickle", 2, bytes(CppPickler(unshared(value)).out)
    value = decoded(value)
    for protocol in protocols:
        announced = protocol if protocol >= 2 else 0
        plain = pickle.dumps(value, protocol)
        yield f"p{protocol}", "pickle", announced, plain
        if large and protocol not in (0, 4):
            continue
        yield f"p{protocol}.python", "pickle", announced, pickle._dumps(value, protocol)
        yield f"p{protocol}.optimized", "pickle", announced, pickletools.optimize(plain)
        yield f"p{protocol}.without_memo", "pickle", announced, without_memo(value, protocol)
    for protocol in (0, 2, 4):
        if protocol not in protocols:
            continue
        yield f"p{protocol}.unshared", "pickle", protocol, pickle.dumps(unshared(value), protocol)
        yield f"p{protocol}.lists", "pickle", protocol, pickle.dumps(lists_for_tuples(value), protocol)
        yield f"p{protocol}.reversed", "pickle", protocol, pickle.dumps(reversed_keys(value), protocol)
    if 2 in protocols:
        yield "saved.zip", "zip", 2, saved(value, zipfile.ZIP_STORED)
        yield "saved.deflated.zip", "zip", 2, saved(value, zipfile.ZIP_DEFLATED)
        yield "saved_before_1_6.pt", "pickle", 2, saved_before_1_6(value)
    if 4 not in protocols:
        return
    plain = pickle.dumps(value, 4)
    yield "pickle.gz", "gzip", 4, gzipped(plain)
    yield "pickle.two_members.gz", "gzip", 4, gzipped(plain[:70]) + gzipped(plain[70:])
    yield "pickle.xz", "xz", 4, lzma.compress(plain, preset=0)
    yield "pickle.two_streams.xz", "xz", 4, lzma.compress(plain[:70], preset=0) + lzma.compress(plain[70:], preset=0)
    yield "pickle.gz.xz", "xz", 4, lzma.compress(gzipped(plain), preset=0)
    yield "pickle.html", "html", 4, page(plain)
    yield "pickle.html.gz", "gzip", 4, gzipped(page(plain))
    yield "one_file.zip", "zip", 4, zipped([("notes.txt", b"hello"), ("__MACOSX/._s.pickle", b"x"), ("run/s.pickle", plain)], zipfile.ZIP_DEFLATED)
    yield "one_packed_file.zip", "zip", 4, zipped([("run/s.pickle.gz", gzipped(plain))], zipfile.ZIP_STORED)
    if json_too:
        text = json.dumps(value)
        yield "json", "json", None, text.encode()
        yield "indented.json", "json", None, b"\xef\xbb\xbf" + json.dumps(reversed_keys(value), indent=1).encode()
        yield "json.gz", "gzip", None, gzipped(text.encode())
        yield "json.zip", "zip", None, zipped([("s.json", text.encode())], zipfile.ZIP_DEFLATED)
        try:
            yield "utf8.json", "json", None, json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            pass


def files(names):
    for name in names or LAYOUTS:
        make, options = LAYOUTS[name]
        value = make()
        expected = "".join(f"{line}\n" for line in describe(value, options["warnings"]))
        yield f"{name}/expected", "text", None, expected.encode()
        made = forms(value, options["cpp"], options["json"], options["protocols"], options["large"])
        for form, wrapping, protocol, content in made:
            yield f"{name}/{form}", wrapping, protocol, content


def main(arguments):
    folder = None
    if arguments[:1] == ["--into"]:
        _, folder, *arguments = arguments
    for name, wrapping, protocol, content in files(arguments):
        if folder is None:
            header = f"{name} {wrapping} {'-' if protocol is None else protocol} {len(content)}\n"
            sys.stdout.buffer.write(header.encode() + content)
        else:
            path = pathlib.Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)


if __name__ == "__main__":
    main(sys.argv[1:])
