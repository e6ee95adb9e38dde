//! What serving frameworks say: vLLM, SGLang, Text Generation Inference, LMDeploy.

use super::Backend::Cuda;
use super::Family::{Cache, CardInUse};
use super::Role::{Opens, Weak};
use super::{Wording, wording};

pub(super) static WORDINGS: &[Wording] = &[
    wording("vllm_no_blocks", Cuda, Cache, Opens, &["noavailablememoryforthecacheblocks"]),
    wording(
        "vllm_max_len",
        Cuda,
        Cache,
        Opens,
        &["toserveatleastonerequestwiththemodelsmaxseqlen"],
    ),
    wording(
        "vllm_max_len",
        Cuda,
        Cache,
        Weak,
        &["largerthantheavailablekvcachememory", "maximumnumberoftokensthatcanbestoredinkvcache"],
    ),
    wording("vllm_warm_up", Cuda, Cache, Opens, &["cudaoutofmemoryoccurredwhenwarmingup"]),
    wording(
        "vllm_start",
        Cuda,
        CardInUse,
        Opens,
        &["islessthandesiredgpumemoryutilization", "islessthantheenginesbudget"],
    ),
    wording("vllm_profiling", Cuda, CardInUse, Opens, &["errorinmemoryprofiling"]),
    wording(
        "sglang_fraction",
        Cuda,
        Cache,
        Opens,
        &["notenoughmemory.pleasetrytoincrease", "kvcachepoolisfull"],
    ),
    wording("tgi_prefill", Cuda, Cache, Opens, &["notenoughmemorytohandle"]),
    wording(
        "lmdeploy_cache",
        Cuda,
        Cache,
        Opens,
        &[
            "notenoughgpumemoryforkvcache",
            "noenoughgpumemoryforkvcache",
            "notenoughmemoryforkvcache",
            "cannotallocatekvcache",
        ],
    ),
];
