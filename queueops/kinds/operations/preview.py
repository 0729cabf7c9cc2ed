"""Preview of an operation: what it would meet, by a look at the first tasks of its walk. Nothing is changed."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from queueops.inspect.answers import Answer, Broken
from queueops.inspect.query import TaskQuery
from queueops.inspect.store import open_reader
from queueops.inspect.tasks import Walked, walks, wanted_fields
from queueops.model.sentences import Sentence
from queueops.model.states import states_allowing, states_of
from queueops.model.stored_sentences import Stored, recognized
from queueops.redis.query_replies import text, whole

__all__ = ["OperationPreview", "PartsOf", "operation_preview"]

MOST = 500
"""Tasks of each pool that a preview looks at: that takes the store two to four milliseconds."""
NUMERIC = ("postpone", "priority", "keep")
"""Verbs whose value is a number. A preview does not know it yet."""


class PartsOf(Answer, frozen=True, kw_only=True):
    """Parts of parent tasks of one kind; the kind is empty where the parent is in another pool, or gone."""

    kind: str
    parts: int
    parents: int


class OperationPreview(Answer, frozen=True, kw_only=True):
    """What an operation would meet.

    With `whole` the counts are of all tasks that match; else of the `matched` ones among the first `looked`.
    """

    TEXTS: ClassVar[tuple[str, ...]] = ()

    looked: int
    matched: int
    whole: bool
    names: tuple[tuple[str, int], ...]  # the most frequent first
    parts: tuple[PartsOf, ...]
    refused: tuple[tuple[str, int], ...]  # the reason, and how many tasks it keeps as they are
    broken: tuple[Broken, ...] = ()  # the pools that do not answer: their tasks are not changed

    @property
    def left(self) -> int:
        """Tasks that would be left as they are."""
        return sum(count for _, count in self.refused)


def operation_preview(verb: str, query: TaskQuery, *, asked_ms: int) -> OperationPreview:
    """What an action on all tasks of a filter would meet now. Raises FilterError.

    It costs one call of each pool, whose cost does not grow with the number of tasks.
    """
    reader, (found, broken) = open_reader(), walks(query)
    asked = {pool: _arguments(verb, query, pool, walked, asked_ms) for pool, walked in found.items()}
    return _joined(reader.ask("preview_operation", asked) if asked else {}, broken)


def indexes_of(verb: str, walked: Walked) -> tuple[str, ...]:
    """The indexes that an operation of a verb walks, one after the other."""
    if walked.suffix == "*":
        return tuple(f"state:{state}" for state in states_allowing(verb))
    field, _, states = walked.suffix.partition(":")
    return tuple(f"state:{state}" for state in states_of(states)) if field == "state" else (walked.suffix,)


def _arguments(verb: str, query: TaskQuery, pool: str, walked: Walked, asked_ms: int) -> list[str | int]:
    indexes = indexes_of(verb, walked)
    wanted = [part for pair in wanted_fields(query, pool) for part in pair]
    value = "0" if verb in NUMERIC else ""
    return [verb, value, ",".join(states_allowing(verb)), MOST, asked_ms, len(indexes), *indexes, *wanted]


def _joined(replies: Mapping[str, Sequence[Any]], broken: tuple[Broken, ...]) -> OperationPreview:
    names, refused = Counter[str](), Counter[str]()
    parts, parents = Counter[str](), Counter[str]()
    for _, _, _, of_names, of_parts, of_refused in replies.values():
        names.update(_counts(of_names))
        refused.update(_counts(of_refused))
        for kind, count, number in zip(of_parts[::3], of_parts[1::3], of_parts[2::3], strict=True):
            parts[text(kind)] += whole(count)
            parents[text(kind)] += whole(number)
    return OperationPreview(
        looked=sum(whole(reply[0]) for reply in replies.values()),
        matched=sum(whole(reply[1]) for reply in replies.values()),
        whole=all(text(reply[2]) == "1" for reply in replies.values()),
        names=tuple(names.most_common()),
        parts=tuple(PartsOf(kind=kind, parts=count, parents=parents[kind]) for kind, count in parts.most_common()),
        refused=_alike(refused),
        broken=broken,
    )


def _alike(refused: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
    """The reasons with their numbers, the most frequent first. Those that differ by an id alone are one reason."""
    alike: dict[str, Counter[str]] = defaultdict(Counter)
    for reason, count in refused.items():
        shown, found = reason, recognized(reason)
        if isinstance(found, Sentence) and "id" in found.values:
            shown = Sentence(found.pattern, {**found.values, "id": "…"})
        alike[shown][reason] = count
    told = Counter(
        {(Stored(next(iter(each))) if len(each) == 1 else shown): each.total() for shown, each in alike.items()}
    )
    return tuple(told.most_common())


def _counts(flat: Sequence[Any]) -> dict[str, int]:
    return {text(name): whole(count) for name, count in zip(flat[::2], flat[1::2], strict=True)}
