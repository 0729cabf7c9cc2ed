"""Run store: what workers and producers of workflows call of the broker of this process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import msgspec

from queueops.model.contracts import Lease, LeaseRef, Push
from queueops.model.ports import offered
from queueops.model.records import Record
from queueops.redis import broker as brokers

HISTORY_PAGE = 1_000
"""Entries of a history in one reply."""
CALLS_PAGE = 500
"""About the most open commands of a run in one reply."""


class StepInput(NamedTuple):
    """What a step begins with. ``goes_on``: the history begins after the entries that the worker has.

    ``history``: its first page, and ``length`` the entries of the whole history. ``origin``: the run that began the
    history, if a reset has made this run.
    """

    goes_on: bool
    instance: str
    parent: str
    history: list[bytes]
    inbox: list[bytes]
    origin: str = ""
    length: int = 0


_Brief = tuple[tuple[str, str, str, str], list[msgspec.Raw], list[msgspec.Raw] | int]
_read_brief = msgspec.json.Decoder(_Brief).decode


def given_input(lease: Lease, fence: int, length: int) -> StepInput | None:
    """What a step begins with, of the brief of its lease; None if the store must be asked.

    ``fence`` and ``length``: of the run in memory; both 0 if the worker does not have it.
    """
    if not lease.brief:
        return None
    try:
        (last, instance, parent, origin), inbox, past = _read_brief(lease.brief)
    except msgspec.MsgspecError:  # an entry is not what a worker or the store writes: the step tells what it is
        return None
    goes_on = bool(fence) and last == str(fence)
    known = length if goes_on else 0
    whole = past if isinstance(past, int) else len(past)
    if isinstance(past, int) and whole != known:
        return None
    history = [] if isinstance(past, int) else [bytes(each) for each in past[known:]]
    return StepInput(goes_on, instance, parent, history, [bytes(each) for each in inbox], origin, whole)


class ResetAnswer(NamedTuple):
    """The answer to a reset: a word (OK, REPEAT, REFUSED, GONE), the new run, the state of the old one, the reason."""

    word: str
    run: str
    state: str
    reason: str


class RunRow(NamedTuple):
    """A run as it is stored: its fields by short name, the lengths of history and inbox, and its open commands.

    ``calls`` has about CALLS_PAGE of them at most; ``open`` is their number.
    """

    fields: dict[str, str]
    history: int
    inbox: int
    calls: dict[str, str]
    open: int = 0


def task_of(what: str) -> tuple[str, str]:
    """The id of an open activity or child, and its pool if that is another one."""
    id, _, far = what[1:].partition("#")
    return id, far.partition("#")[0]


class FarCall(NamedTuple):
    """An open activity or child of another pool, with the token of its call."""

    task: str
    pool: str
    token: str


def far_call_of(what: str) -> FarCall | None:
    """The task of a command of another pool; None for a signal."""
    id, _, far = what[1:].partition("#")
    pool, _, token = far.partition("#")
    return FarCall(id, pool, token) if pool else None


class RunFields(NamedTuple):
    """The fields of a run's record by short name, none if it is gone; the lengths of its history and its inbox."""

    known: dict[str, str]
    history: int = 0
    inbox: int = 0


class CallRow(NamedTuple):
    """An activity or a child as it is stored, without arguments and result, and the last entries of its log."""

    record: Record
    log: Sequence[bytes]


@runtime_checkable
class RunStore(Protocol):
    """Component that stores the runs of workflows."""

    def start_run(
        self,
        instance: str,
        push: Push,
        *,
        ignores: bool = False,
        durable: bool = False,
        under: LeaseRef | None = None,
    ) -> tuple[str, str]:
        """Begin a run of an instance. Returns the word (OK, EXISTS) and the id of the run. Raises InstanceInUse."""

    def tell_run(
        self,
        pool: str,
        what: str,
        text: bytes,
        *,
        run: str = "",
        instance: str = "",
        who: str = "",
        name: str = "",
        token: str = "",
        under: LeaseRef | None = None,
    ) -> tuple[str, str]:
        """Send an event to a run or an instance. Returns its id and its state. Raises InstanceGone and RunEnded."""

    def reset_run(
        self, pool: str, run: str, entry: int, *, reason: str = "", who: str = "", token: str = ""
    ) -> ResetAnswer:
        """Begin a new run with the history of this one before the step of an entry."""

    def step_input(self, lease: Lease, fence: int, length: int) -> StepInput | None:
        """What a step begins with; None if the lease is not current."""

    def prepare_calls(self, pool: str, pushes: Sequence[Push]) -> None:
        """Apply the settings of lanes to the lanes of these calls."""

    def newest_run(self, pool: str, instance: str) -> str | None:
        """The id of the newest run of an instance."""

    def last_run(self, pool: str, run: str, instance: str) -> str:
        """The id of what a run went on as, without ``run`` of the newest run of the instance; '' if it is gone."""

    def newest_runs(self, places: Sequence[tuple[str, str]]) -> dict[tuple[str, str], str]:
        """The last runs of children, by pool and the id of the first run; activities are what they are."""

    def history(self, pool: str, run: str, first: int = 0, count: int = HISTORY_PAGE) -> list[bytes]:
        """Entries of the history of a run."""

    def inbox(self, pool: str, run: str, count: int = HISTORY_PAGE, first: int = 0) -> list[bytes]:
        """The events that no step has taken."""

    def payloads(self, pool: str, run: str, fields: Sequence[str]) -> list[bytes | None]:
        """Payloads of a run that are kept apart."""

    def run_row(self, pool: str, run: str) -> RunRow | None:
        """A run as it is stored; None if there is none."""

    def run_fields(self, places: Sequence[tuple[str, str]]) -> dict[tuple[str, str], RunFields]:
        """The records of runs, by pool and id; one round trip to each server."""

    def raw_calls(self, pool: str, run: str, cursor: int, count: int) -> tuple[int, dict[str, str]]:
        """Open commands as they are stored; those of other pools have an `f` before the number."""

    def is_waiting(self, pool: str, run: str, number: str, what: str) -> bool:
        """Whether a command of another pool is open, as it was read."""

    def waiting_to_begin(self, pool: str, run: str, numbers: Sequence[int]) -> set[int]:
        """Those of the commands of a run that wait to begin, in `#later`."""

    def step_fence(self, pool: str, run: str) -> str | None:
        """The fence of the last step of a run, '' without one; None if the run has ended or is gone."""

    def last_of_chain(self, pool: str, task: str) -> tuple[str, dict[str, str]]:
        """The last run of a child, or an activity: its id, and its state, token and run; nothing if it is gone."""

    def messages(self, pool: str) -> Iterator[dict[str, str]]:
        """The messages to other pools that are on their way, or that were given up, each with what it is about."""

    def open_calls(self, pool: str, run: str, cursor: int, count: int) -> tuple[int, dict[str, str]]:
        """Open commands of a run, about `count` of them from a cursor on, and the cursor behind them; 0 at the end."""

    def children(
        self, pool: str, run: str, first: int, entries: int, most: int
    ) -> tuple[int, int, list[tuple[bytes, str]]]:
        """Children that a run began: their entries and the ids of their last runs.

        Before them: how far the history was read, and its length.
        """

    def call_rows(self, places: Sequence[tuple[str, str]]) -> dict[tuple[str, str], CallRow]:
        """Activities and children by pool and id; one round trip to each server."""


def get_run_store() -> RunStore:
    """The broker of this process. Raises NotOffered."""
    store: RunStore = offered(brokers.get_broker(), RunStore, "workflows")
    return store
