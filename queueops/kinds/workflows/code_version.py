"""Version of the code of workflows: a digest that tells two deploys apart. Heartbeats and decision steps have it."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from contextlib import suppress
from hashlib import sha1
from pathlib import Path
from typing import Any, Protocol, cast

from queueops.tasks import registry

WORKFLOW = "workflow"
FACT = "workflow code"
"""The fact of a heartbeat that has the version. `run_code.lua` looks for it."""


class Coded(Protocol):
    """Handler of a workflow, as far as its version needs it."""

    name: str
    func: Callable[..., Any]

    @property
    def fingerprint(self) -> str:
        """A digest of the source of the function."""


@functools.cache
def code_version() -> str:
    """A digest of the workflows of this process, and of the modules that define them; empty without a workflow."""
    found = registry.handlers().items()
    return _digest(cast("Coded", handler) for (kind, _), handler in found if kind == WORKFLOW)


def facts(lanes: tuple[str, ...]) -> dict[str, str]:
    """What a worker's heartbeat says of its workflows."""
    return {FACT: code_version()} if code_version() else {}


def _digest(handlers: Iterable[Coded]) -> str:
    known = sorted((handler.name, handler.fingerprint, _path(handler)) for handler in handlers)
    if not known:
        return ""
    found = sha1(usedforsecurity=False)
    for name, fingerprint, _ in known:
        found.update(f"{name} {fingerprint}\n".encode())
    for path in sorted({path for _, _, path in known if path}):
        with suppress(OSError):  # such as a module of an archive
            found.update(Path(path).read_bytes())
    return found.hexdigest()[:12]


def _path(handler: Coded) -> str:
    with suppress(TypeError):
        return inspect.getsourcefile(handler.func) or ""
    return ""
