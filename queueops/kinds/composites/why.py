"""Diagnosis of composites: which parts a parent task waits for, and whether a part waits for its turn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from queueops.inspect.why.findings import Finding, bad, good
from queueops.model.sentences import Sentence, say, say_n
from queueops.model.states import State
from queueops.redis.query_replies import Detail, whole


def parked(detail: Detail, record: Mapping[str, str], state: State) -> Iterator[Finding] | None:
    """What an idle parent task waits for, or a part that waits for its turn; None for other tasks."""
    is_own = record.get("k") in (None, "chain", "group", "iterator")
    if (state is State.IDLE and is_own) or (state is State.WAITING and record.get("pi")):
        return _waits(detail, record, state)
    return None


def ended(detail: Detail, record: Mapping[str, str], state: State) -> Iterator[Finding]:
    """Nothing more than of any task."""
    return iter(())


def _waits(detail: Detail, record: Mapping[str, str], state: State) -> Iterator[Finding]:
    text, value, whole_id = _parts(detail, record, state)
    shown = value or record.get("y", "")
    if whole_id:
        yield bad(text, value=shown, target=whole_id, place="parts")  # most of them wait in good health
    else:
        yield bad(text, value=shown, verb="cancel", target=detail.id)
    if parent := record.get("pi"):
        yield good(say("The task is part of another task."), value=parent, target=parent)


def _parts(detail: Detail, record: Mapping[str, str], state: State) -> tuple[Sentence, str, str]:
    """The text for a waiting parent task or stand-in, the value that was read, and the task whose parts show more."""
    if state is State.WAITING:
        return _turn(detail, record)
    if joined := record.get("hj"):
        text = say("The part waits for the end of the task %(task)s, which had its id before.", task=joined)
        return text, joined, joined
    kind = record.get("k")
    if kind == "iterator":
        text = say(
            "The task waits for its parts: %(ended)s of %(total)s so far have ended.",
            ended=whole(record.get("pr")),
            total=whole(record.get("to")),
        )
        return text, _open(detail), detail.id
    if kind in ("chain", "group") and "cc" in record:
        total = whole(record["cc"])
        text = say(
            "The task waits for its parts: %(ended)s of %(total)s have ended.",
            ended=max(0, total - detail.open),
            total=total,
        )
        return text, _open(detail), detail.id
    return say("The task waits for its parts."), "", ""


def _open(detail: Detail) -> Sentence:
    return say_n("%(n)s open", "%(n)s open", detail.open)


def _turn(detail: Detail, record: Mapping[str, str]) -> tuple[Sentence, str, str]:
    """The finding for a part that waits for its turn in its parent task, or whose parent is gone."""
    if record.get("pp") or detail.parent_state:
        text = say("The part waits for its turn in %(parent)s.", parent=detail.parent_name or record["pi"])
        return text, detail.parent_state, record["pi"]
    return say("The part waits for its turn, but its parent task does not exist any more."), record["pi"], ""
