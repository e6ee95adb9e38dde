"""Records what PyTorch's CUDA allocator does while a piece of a program runs."""

from __future__ import annotations

import os
import warnings
from contextlib import ContextDecorator
from types import TracebackType
from typing import Any, List, Optional, Type, Union

from . import _torch

#: The recordings under way in this process, outermost first.
_under_way: List["Recording"] = []
#: Whether failures are observed: once for the process, for an observer cannot be taken away.
_is_observing = False
#: Whether this module started the recording that runs now.
_is_ours = False


def record(
    path: Union[str, "os.PathLike[str]", None] = None,
    *,
    stacks: str = "python",
    max_entries: int = 200_000,
) -> "Recording":
    """Records CUDA memory while a ``with`` block or a decorated function runs.

    A snapshot is written when a request fails for want of memory, at that very moment, and one at
    the end. The first is ``path`` with ``-oom`` before its ending, the second ``path`` itself; an
    exception that is the failure already written writes no second. In a distributed job both names
    have the rank in them. What goes wrong with a snapshot is a
    warning: the program's own result or exception always comes through. Without CUDA, or without
    PyTorch, nothing is recorded or written.

    Args:
        path: where to write; a folder, which gets ``oomscope.pickle``, or a file. The working
            folder if left out. Folders that are missing are made.
        stacks: ``"python"``, or ``"all"`` for C++ frames as well, which tell more about the
            backward pass but may take minutes to write.
        max_entries: allocations, frees and other entries kept, the latest ones. Each takes
            some hundred bytes of the host's memory and of the file.
    """
    if stacks not in ("python", "all"):
        raise ValueError(f'stacks is "python" or "all", not {stacks!r}')
    if max_entries < 1:
        raise ValueError(f"max_entries is at least 1, not {max_entries!r}")
    return Recording(path, stacks, max_entries)


class Recording(ContextDecorator):
    """A recording; made by :func:`record`."""

    #: The snapshots written so far.
    files: List[str]

    def __init__(self, path: Union[str, "os.PathLike[str]", None], stacks: str, max_entries: int) -> None:
        self._path = path
        self._stacks = stacks
        self._max_entries = max_entries
        self._torch: Any = None
        self._process = os.getpid()
        self._is_started = False
        self._failures = 0
        self.files = []

    def _recreate_cm(self) -> "Recording":
        # A decorated function may call itself, or run in several threads.
        return Recording(self._path, self._stacks, self._max_entries)

    def __enter__(self) -> "Recording":
        self._process = os.getpid()
        self._is_started = False
        self._failures = 0
        self.files = []
        _under_way.append(self)
        try:
            self._torch = _torch.find()
            if self._torch is not None:
                _torch.when_initialised(self._torch, self._start)
        except Exception as error:
            _warn("the recording could not be started", error)
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        if self in _under_way:
            _under_way.remove(self)
        if not self._is_started or os.getpid() != self._process:
            return
        # The state at the failing request tells more than what is left once it has unwound.
        is_written = self._failures == 1 and bool(self.files) and _torch.is_failure(error)
        if not is_written:
            self._dump(self._file(""))
        if not _under_way:
            _stop(self._torch)

    def _start(self) -> None:
        """Runs when CUDA is initialised, which may be after the end, or in a process forked since."""
        global _is_ours, _is_observing
        if self not in _under_way or os.getpid() != self._process:
            return
        try:
            # Whoever records already has chosen how.
            if not _is_ours and not _torch.is_recording(self._torch):
                _torch.start(self._torch, self._stacks, self._max_entries)
                _is_ours = True
            self._is_started = True
            if not _is_observing:
                _is_observing = _torch.observe_failures(self._torch, _observe)
        except Exception as error:
            _warn("the recording could not be started", error)

    def _failed(self) -> None:
        """A request has failed. Programs that catch that try many times, so only the first is written."""
        if self._is_started and os.getpid() == self._process:
            self._failures += 1
            if self._failures == 1:
                self._dump(self._file("-oom"))

    def _dump(self, file: str) -> None:
        try:
            os.makedirs(os.path.dirname(file) or ".", exist_ok=True)
            _torch.dump(self._torch, file)
        except Exception as error:
            _warn(f"{file} could not be written", error)
            return
        self.files.append(file)
        _torch.say(f"wrote {file} ({os.path.getsize(file) / 1e6:.1f} MB); look at it with: oomscope open {file}")

    def _file(self, suffix: str) -> str:
        path = os.fspath(self._path) if self._path is not None else ""
        if path == "" or os.path.isdir(path) or path.endswith(("/", os.sep)):
            path = os.path.join(path, "oomscope.pickle")
        base, ending = os.path.splitext(path)
        rank = _torch.rank(self._torch)
        return f"{base}{'' if rank is None else f'-rank{rank}'}{suffix}{ending or '.pickle'}"


def _observe(device: int, requested: int, allocated: int, free: int) -> None:
    for recording in list(_under_way):
        recording._failed()


def _stop(torch: Any) -> None:
    global _is_ours
    if not _is_ours:
        return
    _is_ours = False
    try:
        _torch.stop(torch)
    except Exception as error:
        _warn("the recording could not be ended", error)


def _warn(what: str, error: Exception) -> None:
    """A warning, also where warnings are errors: those would take the place of the program's own."""
    try:
        warnings.warn(f"oomscope: {what}: {error!r}; the program goes on.", RuntimeWarning, stacklevel=3)
    except RuntimeWarning as warning:
        _torch.say(str(warning))
