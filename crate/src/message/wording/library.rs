//! What the driver and the libraries under PyTorch say. Hardly any of it has numbers.

use super::Backend::{Cuda, Hip, Npu, Xpu};
use super::Family::{AddressSpace, Collective, Driver, Library, OnChip};
use super::Role::{Opens, Weak};
use super::{Wording, wording};

pub(super) static WORDINGS: &[Wording] = &[
    wording(
        "thc",
        Cuda,
        Driver,
        Opens,
        &["cudaruntimeerror(2):outofmemory", "error=2:outofmemory"],
    ),
    wording("driver", Cuda, Driver, Opens, &["cudaerror:outofmemory", "cudaerror2:outofmemory"]),
    wording(
        "driver",
        Cuda,
        Driver,
        Weak,
        &[
            "cudaerrormemoryallocation",
            "cuda_error_out_of_memory",
            "cudadrivererror:outofmemory",
            "cudaoutofmemoryerror",
        ],
    ),
    wording("driver", Hip, Driver, Opens, &["hiperror:outofmemory"]),
    wording("driver", Hip, Driver, Weak, &["hiperroroutofmemory"]),
    wording("out_of_resources", Hip, AddressSpace, Weak, &["hsa_status_error_out_of_resources"]),
    wording(
        "driver",
        Xpu,
        Driver,
        Opens,
        &[
            "ur_result_error_out_of_device_memory",
            "ur_error_out_of_device_memory",
            "ze_result_error_out_of_device_memory",
        ],
    ),
    wording(
        "out_of_resources",
        Xpu,
        AddressSpace,
        Weak,
        &["ur_result_error_out_of_resources", "pi_error_out_of_resources"],
    ),
    wording(
        "driver",
        Npu,
        Driver,
        Weak,
        &["el0004", "acl_error_rt_memory_allocation", "failtomalloc"],
    ),
    wording("cublas", Cuda, Library, Opens, &["cublas_status_alloc_failed"]),
    wording(
        "cublas",
        Hip,
        Library,
        Opens,
        &["hipblas_status_alloc_failed", "rocblas_status_memory_error"],
    ),
    wording(
        "cublas_init",
        Cuda,
        Library,
        Weak,
        &["cublas_status_not_initializedwhencallingcublascreate"],
    ),
    wording(
        "cudnn",
        Cuda,
        Library,
        Opens,
        &["cudnn_status_alloc_failed", "cudnn_status_internal_error_device_allocation_failed"],
    ),
    wording(
        "cudnn_algorithm",
        Cuda,
        Library,
        Weak,
        &[
            "unabletofindavalidcudnnalgorithm",
            "findwasunabletofindanengine",
            "getwasunabletofindanengine",
        ],
    ),
    wording(
        "cusolver",
        Cuda,
        Library,
        Opens,
        &[
            "cusolver_status_alloc_failed",
            "cufft_alloc_failed",
            "cusparse_status_insufficient_resources",
            "cusparse_status_alloc_failed",
        ],
    ),
    wording(
        "nccl",
        Cuda,
        Collective,
        Opens,
        &[
            "cudafailure2outofmemory",
            "cudafailureoutofmemory",
            "failedtocudacalloc",
            "failedtocudamalloc",
            "failedtocudahostalloc",
        ],
    ),
    wording("nccl", Hip, Collective, Opens, &["hipfailure2outofmemory", "hipfailureoutofmemory"]),
    wording("triton_shared_memory", Cuda, OnChip, Opens, &["outofresource:sharedmemory"]),
    wording(
        "cudnn_init",
        Cuda,
        Library,
        Weak,
        &["cudnn_status_not_initialized", "cudnn_status_internal_error"],
    ),
];
