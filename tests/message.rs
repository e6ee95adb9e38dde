//! Error texts: every wording, through every kind of noise, cut and damaged anywhere. All sentences
//! are made up; so are their numbers.

use oomscope::message::bar::{Bar, ROUNDING_BYTES};
use oomscope::message::cause::Cause;
use oomscope::message::facts::Facts;
use oomscope::message::wording::Backend;
use oomscope::message::{Reading, read, text_from_bytes};
use oomscope::text::MessageText;
use oomscope::view::message::MessageReport;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::time::{Duration, Instant};

/// A sentence with what it says: name of the fact and number with unit.
struct Case {
    text: &'static str,
    backend: Backend,
    facts: &'static [(&'static str, &'static str)],
    cause: Cause,
}

const fn case(
    text: &'static str,
    backend: Backend,
    cause: Cause,
    facts: &'static [(&'static str, &'static str)],
) -> Case {
    Case { text, backend, facts, cause }
}

use Backend::{
    Cpu, Cuda, Cupy, Hip, Jax, LlamaCpp, Mps, Npu, Onnxruntime, Paddle, Tensorflow, Xpu,
};
use Cause::{
    Activations, Context, Fragmentation, HostMemory, InsufficientData, KvCache, MemoryFractionCap,
    NotPytorch, OtherProcess, PlatformLimit, TooBigSingleRequest,
};

const CASES: &[Case] = &[
    case(
        "THCudaCheck FAIL file=/build/THC/generic/THCStorage.cu line=61 error=2 : out of memory",
        Cuda,
        InsufficientData,
        &[],
    ),
    case(
        "RuntimeError: CUDA out of memory. Tried to allocate 75.25 MiB (GPU 2; 9.50 GiB total capacity; 8.61 GiB already allocated; 41.12 MiB free; 63.75 MiB cached)",
        Cuda,
        InsufficientData,
        &[
            ("requested", "75.25 MiB"),
            ("gpu", "2"),
            ("capacity", "9.50 GiB"),
            ("allocated", "8.61 GiB"),
            ("free", "41.12 MiB"),
            ("unallocated", "63.75 MiB"),
        ],
    ),
    case(
        "RuntimeError: CUDA out of memory. Tried to allocate 612.00 MiB (GPU 0; 19.25 GiB total capacity; 12.00 GiB already allocated; 205.50 MiB free; 18.25 GiB reserved in total by PyTorch)",
        Cuda,
        Fragmentation,
        &[
            ("requested", "612.00 MiB"),
            ("gpu", "0"),
            ("capacity", "19.25 GiB"),
            ("allocated", "12.00 GiB"),
            ("free", "205.50 MiB"),
            ("reserved", "18.25 GiB"),
        ],
    ),
    case(
        "RuntimeError: CUDA out of memory. Tried to allocate 1.75 GiB (GPU 1; 24.00 GiB total capacity; 10.25 GiB already allocated; 11.50 GiB free; 12.00 GiB allowed; 11.25 GiB reserved in total by PyTorch) If reserved memory is >> allocated memory try setting max_split_size_mb to avoid fragmentation.  See documentation for Memory Management and PYTORCH_CUDA_ALLOC_CONF",
        Cuda,
        MemoryFractionCap,
        &[
            ("requested", "1.75 GiB"),
            ("gpu", "1"),
            ("capacity", "24.00 GiB"),
            ("allocated", "10.25 GiB"),
            ("free", "11.50 GiB"),
            ("allowed", "12.00 GiB"),
            ("reserved", "11.25 GiB"),
        ],
    ),
    case(
        "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 34.00 MiB. GPU 5 has a total capacty of 31.50 GiB of which 22.75 MiB is free. Process 4711 has 19.00 GiB memory in use. Including non-PyTorch memory, this process has 12.25 GiB memory in use. Of the allocated memory 11.50 GiB is allocated by PyTorch, and 120.00 MiB is reserved by PyTorch but unallocated. If reserved but unallocated memory is large try setting max_split_size_mb to avoid fragmentation.  See documentation for Memory Management and PYTORCH_CUDA_ALLOC_CONF",
        Cuda,
        OtherProcess,
        &[
            ("requested", "34.00 MiB"),
            ("gpu", "5"),
            ("capacity", "31.50 GiB"),
            ("free", "22.75 MiB"),
            ("process", "12.25 GiB"),
            ("allocated", "11.50 GiB"),
            ("unallocated", "120.00 MiB"),
        ],
    ),
    case(
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.75 GiB. GPU 0 has a total capacity of 39.25 GiB of which 812.00 MiB is free. Including non-PyTorch memory, this process has 38.40 GiB memory in use. Of the allocated memory 30.50 GiB is allocated by PyTorch, with 1.25 GiB allocated in private pools (e.g., CUDA Graphs), and 7.00 GiB is reserved by PyTorch but unallocated. If reserved but unallocated memory is large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  See documentation for Memory Management  (https://pytorch.org/docs/stable/notes/cuda.html#environment-variables)",
        Cuda,
        Fragmentation,
        &[
            ("requested", "2.75 GiB"),
            ("gpu", "0"),
            ("capacity", "39.25 GiB"),
            ("free", "812.00 MiB"),
            ("process", "38.40 GiB"),
            ("allocated", "30.50 GiB"),
            ("private", "1.25 GiB"),
            ("unallocated", "7.00 GiB"),
        ],
    ),
    case(
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 63.50 GiB. GPU 0 has a total capacity of 47.25 GiB of which 40.00 GiB is free. Process 31337 has 7.20 GiB memory in use. Of the allocated memory 6.25 GiB is allocated by PyTorch, and 512.00 MiB is reserved by PyTorch but unallocated. If reserved but unallocated memory is large try setting PYTORCH_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  See documentation for Memory Management  (https://docs.pytorch.org/docs/stable/notes/cuda.html#optimizing-memory-usage-with-pytorch-cuda-alloc-conf)",
        Cuda,
        TooBigSingleRequest,
        &[
            ("requested", "63.50 GiB"),
            ("gpu", "0"),
            ("capacity", "47.25 GiB"),
            ("free", "40.00 GiB"),
            ("allocated", "6.25 GiB"),
            ("unallocated", "512.00 MiB"),
        ],
    ),
    case(
        "CUDA out of memory. Tried to allocate more than 1EB memory.",
        Cuda,
        TooBigSingleRequest,
        &[],
    ),
    case(
        "torch.OutOfMemoryError: CUDA out of memory. Allocation was preemptively rejected because it would exceed per_process_memory_fraction limit. Requested size: 734003200",
        Cuda,
        MemoryFractionCap,
        &[("requested", "734003200 bytes")],
    ),
    case(
        "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 6.50 GiB. GPU 3 has a total capacity of 23.75 GiB of which 1.25 GiB is free. Of the allocated memory 20.75 GiB is allocated by PyTorch, and 310.00 MiB is reserved by PyTorch but unallocated. If reserved but unallocated memory is large try setting PYTORCH_HIP_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  See documentation for Memory Management",
        Hip,
        Activations,
        &[
            ("requested", "6.50 GiB"),
            ("gpu", "3"),
            ("capacity", "23.75 GiB"),
            ("free", "1.25 GiB"),
            ("allocated", "20.75 GiB"),
            ("unallocated", "310.00 MiB"),
        ],
    ),
    case(
        "RuntimeError: XPU out of memory. Tried to allocate 92.00 MiB. GPU 0 has a total capacity of 11.25 GiB. Of the allocated memory 10.75 GiB is allocated by PyTorch, and 75.00 MiB is reserved by PyTorch but unallocated. Please use `empty_cache` to release all unoccupied cached memory.",
        Xpu,
        InsufficientData,
        &[
            ("requested", "92.00 MiB"),
            ("gpu", "0"),
            ("capacity", "11.25 GiB"),
            ("allocated", "10.75 GiB"),
            ("unallocated", "75.00 MiB"),
        ],
    ),
    case(
        "RuntimeError: Current platform can NOT allocate memory block with size larger than 4GB! Tried to allocate 5.25 GiB (GPU  0; 14.50 GiB total capacity; 1.50 GiB already allocated; 1.75 GiB reserved in total by PyTorch)",
        Xpu,
        TooBigSingleRequest,
        &[
            ("requested", "5.25 GiB"),
            ("gpu", "0"),
            ("capacity", "14.50 GiB"),
            ("allocated", "1.50 GiB"),
            ("reserved", "1.75 GiB"),
        ],
    ),
    case(
        "RuntimeError: MPS backend out of memory (MPS allocated: 25.75 GiB, other allocations: 310.50 MiB, max allowed: 27.00 GiB). Tried to allocate 1.50 GiB on private pool. Use PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0 to disable upper limit for memory allocations (may cause system failure).",
        Mps,
        InsufficientData,
        &[
            ("requested", "1.50 GiB"),
            ("allocated", "25.75 GiB"),
            ("other", "310.50 MiB"),
            ("allowed", "27.00 GiB"),
        ],
    ),
    case(
        "RuntimeError: Invalid buffer size: 41.25 GiB",
        Mps,
        TooBigSingleRequest,
        &[("requested", "41.25 GiB")],
    ),
    case(
        "RuntimeError: NPU out of memory. Tried to allocate 66.00 MiB (NPU 6; 60.50 GiB total capacity; 21.25 GiB already allocated; 21.50 GiB current active; 30.50 MiB free; 22.75 GiB reserved in total by PyTorch)If reserved memory is >> allocated memory try setting max_split_size_mb to avoid fragmentation.",
        Npu,
        OtherProcess,
        &[
            ("requested", "66.00 MiB"),
            ("gpu", "6"),
            ("capacity", "60.50 GiB"),
            ("allocated", "21.25 GiB"),
            ("active", "21.50 GiB"),
            ("free", "30.50 MiB"),
            ("reserved", "22.75 GiB"),
        ],
    ),
    case(
        "torch.OutOfMemoryError: Allocation on device 1 would exceed allowed memory. (out of memory)\nCurrently allocated     : 10.25 GiB\nRequested               : 4.50 GiB\nDevice limit            : 15.50 GiB\nFree (according to CUDA): 31.25 MiB\nPyTorch limit (set by user-supplied memory fraction)\n                        : 17179869184.00 GiB",
        Cuda,
        Activations,
        &[
            ("requested", "4.50 GiB"),
            ("gpu", "1"),
            ("capacity", "15.50 GiB"),
            ("free", "31.25 MiB"),
            ("allocated", "10.25 GiB"),
        ],
    ),
    case(
        "RuntimeError: NVML_SUCCESS == r INTERNAL ASSERT FAILED at \"../c10/cuda/CUDACachingAllocator.cpp\":1077, please report a bug to PyTorch.",
        Cuda,
        InsufficientData,
        &[],
    ),
    case(
        "RuntimeError: CUDA error: out of memory\nCUDA kernel errors might be asynchronously reported at some other API call",
        Cuda,
        InsufficientData,
        &[],
    ),
    case(
        "RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
        Cuda,
        Context,
        &[],
    ),
    case("RuntimeError: cuDNN error: CUDNN_STATUS_ALLOC_FAILED", Cuda, Context, &[]),
    case(
        "node7:812:990 [3] NCCL INFO alloc: NCCL WARN Failed to CUDA calloc 6291456 bytes",
        Cuda,
        Context,
        &[("requested", "6291456 bytes")],
    ),
    case(
        "ncclUnhandledCudaError: Call to CUDA function failed.\nLast error:\nCuda failure 2 'out of memory'",
        Cuda,
        Context,
        &[],
    ),
    case(
        "triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: 147456, Hardware limit: 101376. Reducing block sizes or `num_stages` may help.",
        Cuda,
        PlatformLimit,
        &[],
    ),
    case(
        "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine.",
        Cuda,
        KvCache,
        &[],
    ),
    case(
        "ValueError: To serve at least one request with the models's max seq len (65536), (9.50 GiB KV cache is needed, which is larger than the available KV cache memory (3.25 GiB). Based on the available memory, the estimated maximum model length is 22400. Try increasing `gpu_memory_utilization` or decreasing `max_model_len` when initializing the engine.",
        Cuda,
        KvCache,
        &[],
    ),
    case(
        "ValueError: Free memory on device cuda:1 (9.25/39.50 GiB) on startup is less than desired GPU memory utilization (0.9, 35.55 GiB). Decrease GPU memory utilization or reduce GPU memory used by other processes.",
        Cuda,
        OtherProcess,
        &[("gpu", "1"), ("free", "9.25 GiB"), ("capacity", "39.50 GiB")],
    ),
    case(
        "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static. Current value: mem_fraction_static=0.75",
        Cuda,
        KvCache,
        &[],
    ),
    case(
        "RuntimeError: [enforce fail at alloc_cpu.cpp:88] . DefaultCPUAllocator: can't allocate memory: you tried to allocate 51539607552 bytes. Error code 12 (Cannot allocate memory)",
        Cpu,
        HostMemory,
        &[("requested", "51539607552 bytes")],
    ),
    case(
        "numpy.core._exceptions.MemoryError: Unable to allocate 12.75 GiB for an array with shape (40000, 42781) and data type float64",
        Cpu,
        HostMemory,
        &[("requested", "12.75 GiB")],
    ),
    case(
        "RuntimeError: unable to mmap 268435456 bytes from file </torch_812_55>: Cannot allocate memory (12)",
        Cpu,
        HostMemory,
        &[("requested", "268435456 bytes")],
    ),
    case(
        "RuntimeError: DataLoader worker (pid 812) is killed by signal: Bus error. It is possible that dataloader's workers are out of shared memory.",
        Cpu,
        HostMemory,
        &[],
    ),
    case(
        "Out of memory: Killed process 812 (python3) total-vm:91234567kB, anon-rss:61234567kB, file-rss:0kB",
        Cpu,
        HostMemory,
        &[],
    ),
    case(
        "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: train.py FAILED exitcode  : -9 (pid: 812) traceback : Signal 9 (SIGKILL) received by PID 812",
        Cpu,
        HostMemory,
        &[],
    ),
    case(
        "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 7516192768 bytes.\nBufferAssignment OOM Debugging.\n  parameter allocation:  1.25GiB\n  constant allocation:   64.0KiB\n  preallocated temp fragmentation:  120.30MiB (2.60%)",
        Jax,
        NotPytorch,
        &[("requested", "7516192768 bytes")],
    ),
    case(
        "RESOURCE_EXHAUSTED: Failed to allocate request for 4.50GiB (4831838208B) on device ordinal 2",
        Jax,
        NotPytorch,
        &[("requested", "4831838208 bytes"), ("gpu", "2")],
    ),
    case(
        "W tensorflow/core/common_runtime/bfc_allocator.cc:300] Allocator (GPU_0_bfc) ran out of memory trying to allocate 3.25GiB with freed_by_count=0.",
        Tensorflow,
        NotPytorch,
        &[("requested", "3.25 GiB")],
    ),
    case(
        "I stream_executor/cuda/cuda_driver.cc:800] failed to allocate 5.50G (5905580032 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY: out of memory",
        Tensorflow,
        NotPytorch,
        &[("requested", "5905580032 bytes")],
    ),
    case(
        "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 6144.50 MiB on device 0: cudaMalloc failed: out of memory",
        LlamaCpp,
        NotPytorch,
        &[("requested", "6144.50 MiB"), ("gpu", "0")],
    ),
    case(
        "cupy.cuda.memory.OutOfMemoryError: Out of memory allocating 3,221,225,472 bytes (allocated so far: 1,610,612,736 bytes).",
        Cupy,
        NotPytorch,
        &[("requested", "3221225472 bytes"), ("allocated", "1610612736 bytes")],
    ),
    case(
        "onnxruntime::BFCArena::AllocateRawInternal(size_t) Failed to allocate memory for requested buffer of size 805306368\n",
        Onnxruntime,
        NotPytorch,
        &[("requested", "805306368 bytes")],
    ),
    case(
        "ResourceExhaustedError: Out of memory error on GPU 1. Cannot allocate 2.500000GB memory on GPU 1, 13.250000GB memory has been allocated and available memory is only 812.500000MB.",
        Paddle,
        NotPytorch,
        &[
            ("requested", "2.5 GiB"),
            ("gpu", "1"),
            ("allocated", "13.25 GiB"),
            ("free", "812.5 MiB"),
        ],
    ),
];

/// The number of a size written with one blank: `2.50 GiB`.
fn bytes(size: &str) -> u64 {
    let (number, unit) = size.split_once(' ').unwrap();
    let power = ["bytes", "KiB", "MiB", "GiB"].iter().position(|name| *name == unit).unwrap();
    (number.parse::<f64>().unwrap() * 1024_f64.powi(i32::try_from(power).unwrap())).round() as u64
}

/// The facts with their names in [`CASES`]; sums left out.
fn stated(facts: &Facts) -> Vec<(&'static str, u64)> {
    use oomscope::message::facts::Field::{Reserved, Unallocated};
    let derived = |field| facts.derived.contains(&field);
    [
        ("requested", facts.requested_bytes),
        ("gpu", facts.gpu_index),
        ("capacity", facts.capacity_bytes),
        ("free", facts.free_bytes),
        ("process", facts.process_bytes),
        ("allocated", facts.allocated_bytes),
        ("reserved", facts.reserved_bytes.filter(|_| !derived(Reserved))),
        ("unallocated", facts.reserved_unallocated_bytes.filter(|_| !derived(Unallocated))),
        ("private", facts.private_pool_bytes),
        ("allowed", facts.allowed_bytes),
        ("other", facts.other_allocations_bytes),
        ("active", facts.active_bytes),
    ]
    .into_iter()
    .filter_map(|(name, bytes)| Some((name, bytes?)))
    .collect()
}

#[track_caller]
fn says(reading: &Reading, case: &Case, text: &str) {
    let message = &reading.messages[reading.main.unwrap_or_else(|| panic!("not seen: {text}"))];
    let mut expected: Vec<(&str, u64)> = case
        .facts
        .iter()
        .map(|(name, size)| {
            (*name, if *name == "gpu" { size.parse().unwrap() } else { bytes(size) })
        })
        .collect();
    let mut found = stated(&message.facts);
    expected.sort_unstable();
    found.sort_unstable();
    assert_eq!(found, expected, "{text}");
    assert_eq!(message.backend, case.backend, "{text}");
}

/// All that a page or a terminal asks of a text.
fn whole(text: &str) -> Reading {
    let reading = read(text);
    let report = MessageReport::of(&reading);
    serde_json::to_string(&report).unwrap();
    assert!(!MessageText(&report).to_string().is_empty());
    assert!(!reading.causes.is_empty());
    for pair in reading.causes.windows(2) {
        assert!(pair[0].confidence >= pair[1].confidence);
    }
    assert!(reading.causes.iter().all(|claim| (0.0..=1.0).contains(&claim.confidence)));
    reading
}

#[test]
fn every_wording_is_read() {
    for case in CASES {
        let reading = whole(case.text);
        says(&reading, case, case.text);
        assert_eq!(reading.causes[0].cause, case.cause, "{}: {:?}", case.text, reading.causes);
    }
}

/// The same sentences with other numbers: all sizes of one times a factor, so that they still fit each
/// other.
#[test]
fn every_wording_is_read_with_any_numbers() {
    let mut seed = 7_u64;
    for case in CASES {
        for _ in 0..20 {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let factor = 0.4 + (seed >> 40) as f64 / (1 << 24) as f64;
            let mut sizes: Vec<&str> = case
                .facts
                .iter()
                .filter(|(name, size)| *name != "gpu" && size.contains('.'))
                .map(|(_, size)| *size)
                .collect();
            sizes.sort_unstable_by_key(|size| std::cmp::Reverse(size.len()));
            sizes.dedup();
            let other = |size: &str| {
                let (number, unit) = size.split_once(' ').unwrap();
                let decimals = number.split_once('.').map_or(0, |(_, after)| after.len());
                format!("{:.decimals$} {unit}", number.parse::<f64>().unwrap() * factor)
            };
            // Through names that no number contains, so that none is replaced twice.
            let mut text = case.text.to_owned();
            for (place, size) in sizes.iter().enumerate() {
                text = text.replace(size, &format!("\u{1}{place}\u{2}"));
            }
            if sizes
                .iter()
                .enumerate()
                .any(|(place, _)| !text.contains(&format!("\u{1}{place}\u{2}")))
            {
                // It writes the number in another form than the fact does.
                continue;
            }
            for (place, size) in sizes.iter().enumerate() {
                text = text.replace(&format!("\u{1}{place}\u{2}"), &other(size));
            }
            let reading = whole(&text);
            let message =
                &reading.messages[reading.main.unwrap_or_else(|| panic!("not seen: {text}"))];
            let found = stated(&message.facts);
            for (name, size) in case.facts.iter().filter(|(_, size)| sizes.contains(size)) {
                let expected = bytes(&other(size));
                assert!(found.contains(&(*name, expected)), "{name} of {text}: {found:?}");
            }
        }
    }
}

/// Each line with something before it.
fn prefixed(text: &str, prefix: impl Fn(usize) -> String) -> String {
    (0..).zip(text.lines()).map(|(line, text)| format!("{}{text}\n", prefix(line))).collect()
}

/// Lines broken after a number of words, as a mail program does.
fn wrapped(text: &str, words: usize, prefix: &str) -> String {
    let words_of: Vec<&str> = text.split_whitespace().collect();
    words_of.chunks(words).map(|line| format!("{prefix}{}\n", line.join(" "))).collect()
}

/// Lines broken at a width, as a terminal does.
fn broken(text: &str, width: usize) -> String {
    let characters: Vec<char> = text.replace('\n', " ").chars().collect();
    characters.chunks(width).map(|line| line.iter().collect::<String>() + "\n").collect()
}

type Noise = fn(&str) -> String;

#[test]
fn no_noise_hides_a_message() {
    let noises: [(&str, Noise); 15] = [
        ("quoted", |text| prefixed(text, |_| "> > ".into())),
        ("comment", |text| prefixed(text, |_| "  # ".into())),
        ("rank", |text| prefixed(text, |_| "[rank5]: ".into())),
        ("launcher", |text| prefixed(text, |_| "3: ".into())),
        ("log", |text| {
            prefixed(text, |line| format!("2031-02-03 04:05:{:02},678 ERROR ", line % 60))
        }),
        ("worker", |text| {
            prefixed(text, |_| "(Worker_TP1 pid=812) ERROR 02-03 04:05:06 [executor.py:77] ".into())
        }),
        ("iso", |text| prefixed(text, |_| "2031-02-03T04:05:06.789Z  ERROR ".into())),
        ("colour", |text| {
            format!("\u{1b}[1;31m{}\u{1b}[0m", text.replace(". ", ".\u{1b}[0m \u{1b}[31m"))
        }),
        ("lost escapes", |text| format!("[31m{text}[0m")),
        ("json", |text| {
            serde_json::to_string(&format!("\u{1b}[31m{text}\u{1b}[0m\nmore")).unwrap()
        }),
        ("json twice", |text| {
            serde_json::to_string(&serde_json::to_string(text).unwrap()).unwrap()
        }),
        ("mail", |text| wrapped(text, 7, "> ")),
        ("windows", |text| text.replace('\n', "\r\n") + "\r\n"),
        ("glued", |text| format!("Epoch 3:  42%|####      | 5/12 [00:01<00:02]{text}")),
        ("box", |text| prefixed(text, |_| "│ ".into())),
    ];
    for case in CASES {
        for (name, noise) in noises {
            let text = noise(case.text);
            says(&whole(&text), case, &format!("{name}: {text}"));
        }
    }
}

/// A number that a line's end cuts is told as one where the width shows, and never as another.
#[test]
fn a_terminals_width_changes_nothing() {
    for case in CASES.iter().filter(|case| case.text.len() > 260 && !case.text.contains('\n')) {
        for width in 60..=110 {
            let text = broken(case.text, width);
            says(&whole(&text), case, &text);
        }
    }
}

#[test]
fn utf_16_is_read() {
    let case = &CASES[1];
    let mut bytes = vec![0xff, 0xfe];
    bytes.extend(case.text.encode_utf16().flat_map(u16::to_le_bytes));
    says(&whole(&text_from_bytes(&bytes)), case, "utf-16");
}

/// The prose in other languages, decimal commas, full-width signs: numbers and names remain.
#[test]
fn translated_prose_is_read_by_its_order() {
    let new = "torch.OutOfMemoryError：CUDA 内存不足。尝试分配 3.25 GiB。GPU 1 的总容量为 21.50 GiB，其中 512.00 MiB 可用。包括非 PyTorch 内存在内，此进程已使用 20.90 GiB 内存。在已分配的内存中，PyTorch 分配了 18.75 GiB，PyTorch 保留但未分配 1.50 GiB。";
    let facts = whole(new).messages[0].facts.clone();
    assert_eq!(
        stated(&facts),
        [
            ("requested", bytes("3.25 GiB")),
            ("gpu", 1),
            ("capacity", bytes("21.50 GiB")),
            ("free", bytes("512.00 MiB")),
            ("process", bytes("20.90 GiB")),
            ("allocated", bytes("18.75 GiB")),
            ("unallocated", bytes("1.50 GiB")),
        ]
    );
    let old = "CUDA-Speicher reicht nicht. Es wurde versucht, 1,25 GiB zuzuweisen (GPU 0; 7,50 GiB Gesamtkapazität; 5,00 GiB bereits zugewiesen; 310,50 MiB frei; 6,75 GiB insgesamt von PyTorch reserviert)";
    let facts = whole(old).messages[0].facts.clone();
    assert_eq!(facts.free_bytes, Some(bytes("310.50 MiB")));
    assert_eq!(facts.reserved_bytes, Some(bytes("6.75 GiB")));
    // Nothing of the name is left but the names of things.
    let bare = "Не хватило видеопамяти: запрошено 1.75 GiB. GPU 2 имеет 9.50 GiB, свободно 41.25 MiB. Из них PyTorch занял 8.25 GiB, а 96.00 MiB у PyTorch простаивают.";
    let facts = whole(bare).messages[0].facts.clone();
    assert_eq!((facts.requested_bytes, facts.gpu_index), (Some(bytes("1.75 GiB")), Some(2)));
    assert_eq!(facts.allocated_bytes, Some(bytes("8.25 GiB")));
}

#[test]
fn the_first_of_several_messages_is_judged() {
    let log = format!(
        "step 11 loss 0.3\n[rank2]: {}\nTraceback (most recent call last):\n[rank0]: {}\n[rank2]: {}\n",
        CASES[5].text, CASES[6].text, CASES[5].text
    );
    let reading = whole(&log);
    assert_eq!((reading.found, reading.messages.len(), reading.main), (3, 2, Some(0)));
    assert_eq!((reading.messages[0].line, reading.messages[0].times), (2, 2));
    assert_eq!(reading.messages[1].line, 4);
    says(&reading, &CASES[5], &log);
    // A title that only mentions the error is not the error.
    let titled = format!("Help, CUDA out of memory on a new card\n\n{}", CASES[5].text);
    says(&whole(&titled), &CASES[5], &titled);
}

#[test]
fn what_is_not_said_is_not_told() {
    for text in [
        "",
        "\n\n",
        "the model fits into memory, 12.00 GiB free of 24.00 GiB total capacity",
        "ImportError: cannot import name 'x' from 'torch'",
        "IndexError: list index out of range",
    ] {
        let reading = whole(text);
        assert!(reading.messages.is_empty(), "{text}: {:?}", reading.messages);
        assert_eq!(reading.causes[0].cause, InsufficientData);
    }
    for (text, names) in [
        ("CUDA out of memory. Tried to allocate 16.", [].as_slice()),
        ("CUDA out of memory. Tried to allocate 16.50 G", &[]),
        ("CUDA out of memory. Tried to allocate 16.50 GiB. GPU 1", &["requested"]),
        (
            "GPU 1; 9.25 GiB total capacity; 2.50 GiB already allocated; 12.50 MiB f",
            &["allocated", "capacity", "free", "gpu"],
        ),
        ("6.25 GiB allowed; 6.20 GiB reserved in total by PyTorch", &["allowed", "reserved"]),
        (
            "Tried to allocate 92.00 MiB. GPU 3 has a total capacity of 9.50 GiB of ...",
            &["capacity", "gpu", "requested"],
        ),
    ] {
        let reading = whole(text);
        let mut found: Vec<&str> =
            stated(&reading.messages[0].facts).iter().map(|(name, _)| *name).collect();
        found.sort_unstable();
        assert_eq!(found, names, "{text}");
    }
}

/// The bar's parts sum to the device's memory, but for rounding; or it says that they cannot.
#[track_caller]
fn conserves(bar: &Bar) {
    let sum: u64 = bar.parts.iter().map(|part| part.bytes).sum();
    assert_eq!(sum, bar.total_bytes);
    assert!(bar.parts.iter().all(|part| part.bytes > 0));
    assert!(sum >= bar.capacity_bytes);
    if !bar.is_spilled {
        assert!(
            sum <= bar.capacity_bytes + ROUNDING_BYTES.max(bar.capacity_bytes / 100),
            "{bar:?}"
        );
    }
}

#[test]
fn the_bar_sums_to_the_device() {
    let mut bars = 0;
    for case in CASES {
        if let Some(bar) = whole(case.text).bar {
            conserves(&bar);
            bars += 1;
        }
    }
    assert!(bars > 10);
    let spilled = "CUDA out of memory. Tried to allocate 1.25 GiB (GPU 0; 6.00 GiB total capacity; 9.50 GiB already allocated; 0 bytes free; 10.75 GiB reserved in total by PyTorch)";
    let bar = whole(spilled).bar.unwrap();
    assert!(bar.is_spilled);
    conserves(&bar);
}

#[test]
fn each_part_of_the_bar_is_named() {
    let parts = |text: &str| -> Vec<(&str, u64)> {
        whole(text).bar.unwrap().parts.iter().map(|part| (part.key, part.bytes >> 20)).collect()
    };
    assert_eq!(
        parts(CASES[5].text),
        [
            ("allocated", 29952),
            ("private_pools", 1280),
            ("idle", 7168),
            ("own_other", 921),
            ("other_processes", 58),
            ("free", 812)
        ]
    );
    // In a container this process is named by the host's number.
    assert!(parts(CASES[6].text).iter().any(|(key, bytes)| *key == "own_other" && *bytes == 460));
    // Without a process's sentence the rest cannot be told apart.
    assert!(parts(CASES[2].text).iter().any(|(key, bytes)| *key == "outside" && *bytes == 818));
}

/// All numbers of a text, each as the bytes that it could mean with any unit; with and without the
/// blanks between them.
fn numbers(text: &str) -> BTreeSet<u64> {
    let is_noise =
        |character: &char| character.is_whitespace() || "\\\"'`*\u{1b}".contains(*character);
    let joined: String = text.chars().filter(|character| !is_noise(character)).collect();
    let mut found = BTreeSet::new();
    for text in [text, &joined] {
        let bytes = text.as_bytes();
        let is_digit = |at: &usize| bytes[*at].is_ascii_digit();
        for start in (0..bytes.len()).filter(is_digit) {
            let end = (start..bytes.len())
                .find(|at| !is_digit(at) && !b".,".contains(&bytes[*at]))
                .unwrap_or(bytes.len());
            let number = &text[start..end];
            for number in [number.replace(',', ""), number.replace('.', "").replace(',', ".")] {
                let Ok(number) = number.trim_end_matches('.').parse::<f64>() else { continue };
                found.extend((0..5).map(|power| (number * 1024_f64.powi(power)).round() as u64));
            }
        }
    }
    found
}

#[track_caller]
fn invents_nothing(text: &str) {
    let reading = whole(text);
    let numbers = numbers(text);
    for message in &reading.messages {
        for (name, bytes) in stated(&message.facts) {
            assert!(numbers.contains(&bytes), "{name} = {bytes} is not in {text:?}");
        }
        for process in &message.facts.process_list {
            assert!(numbers.contains(&process.bytes), "{process:?} is not in {text:?}");
        }
    }
    if let Some(bar) = &reading.bar {
        conserves(bar);
    }
}

#[test]
fn cuts_invent_nothing() {
    for case in CASES {
        let places: Vec<usize> = case.text.char_indices().map(|(at, _)| at).collect();
        for at in places {
            invents_nothing(&case.text[..at]);
            invents_nothing(&case.text[at..]);
        }
    }
}

/// A sequence of numbers that is the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }
}

#[test]
fn damage_invents_nothing() {
    let mut random = Random(7);
    let pieces: Vec<char> =
        "0123456789.,; \n\t()[]>#:%GiBMKbytesfree\u{1b}\\\"…é内\u{a0}\u{ff10}".chars().collect();
    for round in 0..20_000 {
        let case = &CASES[round % CASES.len()];
        let mut text: Vec<char> = case.text.chars().collect();
        for _ in 0..=random.below(6) {
            let (at, piece) = (random.below(text.len()), pieces[random.below(pieces.len())]);
            match random.below(4) {
                0 => text[at] = piece,
                1 => text.insert(at, piece),
                2 => drop(text.remove(at)),
                _ => text.swap(at, at / 2),
            }
        }
        let text: String = text.into_iter().collect();
        // Full-width digits are digits, too; the check below reads ASCII alone.
        invents_nothing(&text.replace('\u{ff10}', "0"));
    }
}

/// Texts made to be slow: each is read in a time that grows with its length alone.
#[test]
fn long_texts_are_read_in_linear_time() {
    let repeated = |piece: &str| piece.repeat((4 << 20) / piece.len());
    let mut log = String::new();
    for step in 0..40_000 {
        writeln!(log, "2031-02-03 04:05:06,789 INFO [train.py:{step}] step {step} loss 0.25 mem 12.50 GiB free").unwrap();
    }
    log += CASES[5].text;
    for text in [
        repeated("1"),
        repeated("1 "),
        repeated("9.75 GiB "),
        repeated("\\u"),
        repeated("\u{1b}[31m"),
        repeated("[31"),
        repeated("> "),
        repeated("(rank "),
        repeated("GPU 0 "),
        repeated("Tried to allocate "),
        repeated("out of memory. CUDA "),
        repeated("Process 7 has 1.25 GiB memory in use. "),
        repeated(CASES[4].text),
        repeated("failed to allocate 2.50G "),
        repeated("of size"),
        repeated("Free memory on device ("),
        log,
    ] {
        let begin = Instant::now();
        whole(&text);
        // Some hundred times what it takes with optimisation on an idle machine.
        assert!(begin.elapsed() < Duration::from_secs(30), "{}", &text[..40]);
    }
}

#[test]
fn the_snippet_fits_the_program_and_the_version() {
    let with = |text: &str| whole(text).snippet;
    let sentence = CASES[4].text;
    assert!(with(sentence).unwrap().code.contains("max_entries"));
    let lightning =
        format!("  File \"/x/pytorch_lightning/trainer.py\", line 3, in fit\n{sentence}");
    assert!(with(&lightning).unwrap().place.contains("Trainer("));
    let ranked = format!("[rank1]: x\n{sentence}");
    assert!(with(&ranked).unwrap().code.contains("RANK"));
    let served = format!("(EngineCore_0 pid=7) vllm\n{sentence}");
    assert!(with(&served).unwrap().code.contains("stacks=\"python\""));
    let old = format!("torch==2.0.1\n{sentence}");
    assert!(with(&old).unwrap().code.contains("trace_alloc_max_entries"));
    // Before PyTorch 2.0 there was no history; the machine's memory and other programs have none.
    assert!(!with(CASES[1].text).unwrap().code.contains("_record_memory_history"));
    for case in CASES.iter().filter(|case| matches!(case.cause, HostMemory | NotPytorch)) {
        assert!(with(case.text).is_none(), "{}", case.text);
    }
}

#[test]
fn misjudgements_carry_the_numbers() {
    let reading = whole(CASES[4].text);
    let truth = |belief: &str| {
        reading
            .misjudgements
            .iter()
            .find(|other| other.belief.contains(belief))
            .map(|other| other.truth.clone())
    };
    assert!(truth("empty_cache").unwrap().contains("PyTorch had done the same"));
    assert!(truth("batch").is_some());
    let full = whole(
        "CUDA out of memory. Tried to allocate 612.00 MiB (GPU 0; 19.25 GiB total capacity; 18.00 GiB already allocated; 205.50 MiB free; 18.25 GiB reserved in total by PyTorch)",
    );
    assert!(
        full.misjudgements[0].truth.contains("at most 256.00 MiB; 612.00 MiB"),
        "{:?}",
        full.misjudgements
    );
}

/// Where two numbers are printed alike, no sum of them is negative or absurd.
#[test]
fn rounding_never_turns_into_memory() {
    let text = "CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity of 10.00 GiB of which 0 bytes is free. Including non-PyTorch memory, this process has 10.00 GiB memory in use. Of the allocated memory 10.01 GiB is allocated by PyTorch, and 0 bytes is reserved by PyTorch but unallocated.";
    let reading = whole(text);
    conserves(&reading.bar.unwrap());
    assert!(reading.explanations.iter().all(|line| line.bytes <= 11 << 30));
    // A process of no bytes is one that the driver could not see.
    let zero = "CUDA out of memory. Tried to allocate 92.00 MiB. GPU 0 has a total capacity of 10.00 GiB of which 50.00 MiB is free. Including non-PyTorch memory, this process has 0 bytes memory in use. Of the allocated memory 9.50 GiB is allocated by PyTorch, and 25.00 MiB is reserved by PyTorch but unallocated.";
    let reading = whole(zero);
    assert_eq!(reading.messages[0].facts.process_bytes, Some(0));
    assert_eq!(reading.causes[0].cause, InsufficientData);
}
