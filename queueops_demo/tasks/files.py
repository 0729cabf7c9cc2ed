"""CPU-bound tasks: hash and compress files."""

from __future__ import annotations

import bz2
import hashlib
import lzma
import zlib
from collections.abc import Callable
from functools import partial

from queueops import Retry, task
from queueops_demo.library import ROOT

SOON = Retry(delay=5)
PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "zlib": zlib.compress,
    "bz2": bz2.compress,
    "lzma": partial(lzma.compress, preset=1),  # the usual preset takes 90 MB for each that runs
}


@task(name="demo.hash_file", priority=10, tags=["files"], retry=SOON, timeout=30)
def hash_file(path: str, algorithm: str = "sha256") -> str:
    """Hash a file. It starts before other tasks: its priority is 10."""
    return hashlib.new(algorithm, (ROOT / path).read_bytes(), usedforsecurity=False).hexdigest()


@task(name="demo.compress_file", priority=-10, tags=["files"], retry=SOON, timeout=30)
def compress_file(path: str, packer: str = "zlib") -> dict[str, float]:
    """Compress a file. It starts after other tasks: its priority is -10."""
    data = (ROOT / path).read_bytes()
    packed = len(PACKERS[packer](data))
    return {"bytes": len(data), "packed": packed, "share": round(packed / max(1, len(data)), 3)}
