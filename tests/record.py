"""Records a fixture on a machine with a CUDA GPU and PyTorch 2.1 or newer:

    from record import count, fixture

    with fixture("NAME", cause="leak", limit_gib=1) as truth:
        ...  # the program; `truth` takes what it knows of itself

leaves NAME.pickle.xz and NAME.json in the working folder. Running out of memory ends the block and
is noted; any other exception comes through, and nothing is written.
"""

import contextlib
import json
import lzma
import os
import pickle

import torch

STATISTICS = (
    "active_bytes.all",
    "allocated_bytes.all",
    "inactive_split_bytes.all",
    "requested_bytes.all",
    "reserved_bytes.all",
    "segment.all",
    "num_alloc_retries",
    "num_ooms",
)


def count(tensors):
    """The bytes of the tensors on the GPU; storage that several share counts once."""
    storages = (tensor.untyped_storage() for tensor in tensors if tensor is not None and tensor.is_cuda)
    return sum({storage.data_ptr(): storage.nbytes() for storage in storages}.values())


@contextlib.contextmanager
def fixture(name, cause, limit_gib=None, **recording):
    """`recording` goes to `_record_memory_history`, for example `stacks="python"`."""
    truth = {
        "name": name,
        "torch": torch.__version__,
        "device": torch.cuda.get_device_name(),
        "alloc_conf": os.environ.get("PYTORCH_ALLOC_CONF", os.environ.get("PYTORCH_CUDA_ALLOC_CONF", "")),
        "cause": cause,
        "oom": False,
    }
    torch.manual_seed(0)
    _, capacity_bytes = torch.cuda.mem_get_info()
    if limit_gib is not None:
        truth["allowed_bytes"] = int(limit_gib * 2**30)
        torch.cuda.set_per_process_memory_fraction(truth["allowed_bytes"] / capacity_bytes)
    torch.cuda.memory._record_memory_history(**{"max_entries": 1_000_000, **recording})
    try:
        yield truth
    except torch.cuda.OutOfMemoryError as error:
        truth |= {"oom": True, "error": str(error)}
    statistics = torch.cuda.memory_stats()
    truth["stats"] = {key: statistics[key] for key in sorted(statistics) if key.startswith(STATISTICS)}
    free_bytes, capacity_bytes = torch.cuda.mem_get_info()
    truth |= {"free_bytes": free_bytes, "capacity_bytes": capacity_bytes}
    snapshot = pickle.dumps(torch.cuda.memory._snapshot(), protocol=4)
    truth["pickle_bytes"] = len(snapshot)
    with lzma.open(f"{name}.pickle.xz", "wb", preset=9) as file:
        file.write(snapshot)
    with open(f"{name}.json", "w") as file:
        json.dump(truth, file, indent=1)
