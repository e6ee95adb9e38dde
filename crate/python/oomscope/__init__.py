"""Why did the GPU run out of memory? Records what PyTorch's allocator does, for oomscope to read.

>>> import oomscope
>>> with oomscope.record():
...     train()

writes a snapshot when memory runs out, or else at the end; ``oomscope open FILE`` shows it.
"""

from importlib.metadata import PackageNotFoundError, version

from ._record import Recording, record

__all__ = ["Recording", "record"]

try:
    __version__ = version("oomscope")
except PackageNotFoundError:  # run from its source
    __version__ = "0"

try:
    from ._commit import COMMIT as __commit__
except ImportError:
    __commit__ = ""
