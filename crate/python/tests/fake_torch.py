"""Stands in for PyTorch: as much of each version as the package calls, and a memory that fills."""

import inspect
import types


class OutOfMemoryError(RuntimeError):
    pass


def _signature(version):
    """What `_record_memory_history` took, as `inspect` saw it."""

    def v1_13(enabled, device=None): ...

    def v2_0(enabled, record_context=True, trace_alloc_max_entries=1, trace_alloc_record_context=False, device=None, _enable_expensive_cpp=False): ...

    def v2_1(enabled="all", context="all", stacks="all", max_entries=2**63 - 1, device=None): ...

    def v2_8(enabled="all", context="all", stacks="all", max_entries=2**63 - 1, device=None, clear_history=False, compile_context=False, global_record_annotations=False): ...

    def v2_11(enabled="all", context="all", stacks="all", max_entries=2**63 - 1, device=None, clear_history=False, compile_context=False, global_record_annotations=False, skip_actions=None): ...

    def v2_14(enabled="all", context="all", stacks="all", max_entries=2**63 - 1, device=None, clear_history=False, compile_context=False, global_record_annotations=False, skip_actions=None, record_pinned_host_memory=False, record_cuda=True): ...

    forms = {(1, 13): v1_13, (2, 0): v2_0, (2, 1): v2_1, (2, 8): v2_8, (2, 11): v2_11, (2, 14): v2_14}
    asked = tuple(int(part) for part in version.split(".")[:2])
    return inspect.signature(forms[max(form for form in forms if form <= asked)])


class FakeTorch(types.ModuleType):
    """`calls` has what was asked of it, in order."""

    OutOfMemoryError = OutOfMemoryError

    def __init__(self, version="2.11.0+cu130", cuda="13.0", is_initialised=True):
        super().__init__("torch")
        self.__version__ = version
        self.calls = []
        self.is_initialised = is_initialised
        self.fails_to = set()
        self._queue = []
        self._observers = []
        self._is_on = False
        release = tuple(int(part) for part in version.split(".")[:2])
        signature = _signature(version)

        def record(*args, **kwargs):
            self._do("record")
            bound = signature.bind(*args, **kwargs)
            self.calls.append(("record", bound.arguments))
            self._is_on = bound.arguments["enabled"] not in (None, False)

        record.__signature__ = signature
        memory = types.SimpleNamespace(_record_memory_history=record, _snapshot=lambda: {"segments": []})
        if release >= (2, 1):
            memory._dump_snapshot = self._dump
        self.cuda = types.SimpleNamespace(memory=memory, _lazy_call=self._lazy_call)
        self.version = types.SimpleNamespace(cuda=cuda, hip=None)
        self._C = types.SimpleNamespace(_cuda_attach_out_of_memory_observer=self._attach)
        if release >= (2, 2):
            self._C._cuda_isHistoryEnabled = lambda: self._is_on

    def _do(self, what):
        if what in self.fails_to:
            raise RuntimeError(f"cannot {what}")

    def _lazy_call(self, act):
        if self.is_initialised:
            act()
        else:
            self._queue.append(act)

    def initialise(self):
        self.is_initialised = True
        for act in self._queue:
            act()

    def _attach(self, observer):
        self._do("attach")
        self._observers.append(observer)

    def _dump(self, filename):
        with open(filename, "wb") as file:
            file.write(b"half")
            self._do("dump")
            file.write(b" and half")
        self.calls.append(("dump", filename))

    def run_out(self):
        """A request fails: observers first, then the exception."""
        for observer in self._observers:
            observer(0, 512, 0, 0)
        raise OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")

    def recorded(self):
        """The arguments of each start and end."""
        return [dict(arguments) for what, arguments in self.calls if what == "record"]
