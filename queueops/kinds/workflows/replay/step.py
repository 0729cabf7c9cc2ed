"""Decision step: what the code of a run begins with, and what a step of it decides."""

from __future__ import annotations

from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from queueops.kinds.workflows.events import Entry
from queueops.model.contracts import Push

OnParentEnd = Literal["cancel", "terminate", "abandon"]
"""What becomes of a child that its parent does not need any more."""
FRAME = "\t"
"""Stands between the frames of a waiting coroutine."""


class Code(Protocol):
    """The code of a workflow, with the arguments of one run."""

    @property
    def fingerprint(self) -> str:
        """A digest of the source."""

    def begin(self) -> Coroutine[Any, Any, Any]:
        """The coroutine of the run."""

    def encode(self, args: Sequence[Any], kwargs: dict[str, Any]) -> bytes:
        """The checked arguments of the next run of the instance."""

    def encode_result(self, value: Any) -> bytes:
        """What the code returned, checked by its annotation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunInfo:
    """What the code may know about its run, by `wf.info()`."""

    id: str
    name: str
    instance: str
    pool: str = "default"
    parent: str = ""
    length: int = 0
    """Entries of the history, before this step."""
    size: int = 0
    """Commands of the code so far, and signals and cancels that came: what MAX_HISTORY limits."""
    origin: str = ""
    """The run that began the history. A reset gives a new `id`, and keeps this."""
    trace: str = ""
    """The trace context of its start, if OpenTelemetry is used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeSpan:
    """A span that has ended in a step. ``key`` names it in its run, ``parent`` the span around it."""

    key: str
    name: str
    begun_ms: int
    ended_ms: int
    parent: str = "run"
    error: str = ""
    links: tuple[str, ...] = ()
    attributes: dict[str, str | int] = field(default_factory=dict)


@dataclass(slots=True)
class Step:
    """The result of one decision step, for the store.

    ``pushes`` are the calls of activities and children, by the number of their command. ``over``: the code has ended,
    with ``state``, and a ``result``, an ``error`` or the ``reason`` of a cancel; or it continues as new with ``again``.
    """

    at: int
    taken: int = 0
    commands: list[Entry] = field(default_factory=list)
    pushes: dict[int, Push] = field(default_factory=dict)
    left: dict[int, OnParentEnd] = field(default_factory=dict)
    """What becomes of children that are not needed any more, by the number of their command, if that is no cancel."""
    status: bytes | None = None
    where: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    died: list[str] = field(default_factory=list)
    """Tasks of the code that have failed, and whose errors no code has taken."""
    over: bool = False
    state: str = ""
    reason: str = ""
    result: bytes = b""
    error: BaseException | None = None
    again: bytes | None = None
    next_id: str = ""
    unread: list[Entry] = field(default_factory=list)
    """At the end: signals that no code has read, and a cancel that came too late; for the next run, if there is one."""
    spans: list[MadeSpan] = field(default_factory=list)


class ContinueAsNew(BaseException):
    """Ends the run, and begins the next one of its instance. Not an Exception, so that code does not catch it."""

    def __init__(self, arguments: bytes) -> None:
        self.arguments = arguments
