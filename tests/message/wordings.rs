//! Sentences with what they say. All are made up; so are their numbers.

use oomscope::message::cause::Cause;
use oomscope::message::wording::Backend;

/// A sentence with what it says: name of the fact and number with unit.
pub(super) struct Case {
    pub(super) text: &'static str,
    pub(super) backend: Backend,
    pub(super) facts: &'static [(&'static str, &'static str)],
    pub(super) cause: Cause,
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

pub(super) const CASES: &[Case] = &[
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
