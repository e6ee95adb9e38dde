"""What the installed PyTorch takes. Its functions for memory snapshots are not public: their
arguments changed in 2.0, 2.1 and later, so each call looks at what there is.
"""

from __future__ import annotations

import inspect
import os
import pickle
import sys
from typing import Any, Callable, Optional


def find() -> Optional[Any]:
    """The module ``torch`` if it can record CUDA memory (ROCm counts), else nothing.

    It asks no driver: a program that never uses the GPU must not pay for one.
    """
    try:
        import torch
    except ImportError:
        return None
    memory = getattr(getattr(torch, "cuda", None), "memory", None)
    is_built = torch.version.cuda is not None or getattr(torch.version, "hip", None) is not None
    return torch if is_built and hasattr(memory, "_record_memory_history") else None


def when_initialised(torch: Any, act: Callable[[], None]) -> None:
    """Calls ``act`` once CUDA is initialised: at once, or by its first use.

    Initialising it here would take memory on the GPU before the program has chosen one, and break
    programs that fork first.
    """
    torch.cuda._lazy_call(act)


def is_recording(torch: Any) -> bool:
    """Whether the program already records; versions before 2.2 cannot tell."""
    asked = getattr(torch._C, "_cuda_isHistoryEnabled", None)
    return bool(asked and asked())


def start(torch: Any, stacks: str, max_entries: int) -> None:
    """Starts recording allocations, frees and failures with their stacks."""
    begin = torch.cuda.memory._record_memory_history
    takes = inspect.signature(begin).parameters
    if "trace_alloc_max_entries" in takes:  # 2.0
        arguments = {
            "record_context": True,
            "trace_alloc_max_entries": max_entries,
            "trace_alloc_record_context": True,
            "_enable_expensive_cpp": stacks == "all",
        }
        begin(True, **{name: value for name, value in arguments.items() if name in takes})
    elif "context" in takes or "kwargs" in takes:  # 2.1 and later
        begin("all", context="all", stacks=stacks, max_entries=max_entries)
    else:  # 1.13
        begin(True)


def stop(torch: Any) -> None:
    """Ends recording, and lets go of what was recorded."""
    end = torch.cuda.memory._record_memory_history
    takes = inspect.signature(end).parameters
    end(None if "context" in takes or "kwargs" in takes else False)


def observe_failures(torch: Any, observer: Callable[[int, int, int, int], None]) -> bool:
    """Calls ``observer`` at each request that fails, before its exception is raised; for the rest of
    the process, since none can be taken away. Answers whether this version does so safely.
    """
    major, minor = (int(part) for part in torch.__version__.split(".")[:2])
    attach = getattr(torch._C, "_cuda_attach_out_of_memory_observer", None)
    # 2.0 and 2.1 may stop or crash in an observer that takes a snapshot (pytorch#102796, #107330).
    if attach is None or (major, minor) < (2, 2):
        return False
    attach(observer)
    return True


def rank(torch: Any) -> Optional[int]:
    """This process's number in a distributed job; none in a program that is alone."""
    group = getattr(torch, "distributed", None)
    if group is not None and group.is_available() and group.is_initialized():
        return int(group.get_rank())
    told = os.environ.get("RANK") or os.environ.get("LOCAL_RANK") or ""
    return int(told) if told.isdigit() else None


def dump(torch: Any, path: str) -> None:
    """Writes the snapshot: as a whole or not at all."""
    part = f"{path}.part"
    try:
        write = getattr(torch.cuda.memory, "_dump_snapshot", None)
        if write is not None:
            write(part)
        else:
            with open(part, "wb") as file:
                pickle.dump(torch.cuda.memory._snapshot(), file)
        os.replace(part, path)
    except BaseException:
        if os.path.exists(part):
            os.remove(part)
        raise


def is_failure(error: Optional[BaseException]) -> bool:
    """Whether an exception is one of memory that ran out, or comes from one."""
    seen = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        if type(error).__name__ == "OutOfMemoryError" or "out of memory" in str(error):
            return True
        error = error.__cause__ or error.__context__
    return False


def say(text: str) -> None:
    """Tells whoever watches the program."""
    try:
        print(f"oomscope: {text}", file=sys.stderr, flush=True)
    except Exception:
        # No stream to tell it to is no reason to stop the program.
        pass
