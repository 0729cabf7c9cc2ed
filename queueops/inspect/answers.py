"""Answers: a base class that redacts texts; lists; pools that could not be read.

A subclass of `Answer` names its text fields; they are redacted at creation, for the current user. Other structs of this
package redact their texts where they are made, or have none of a task. Answers are ready for a page, a terminal or
JSON. Times are epoch milliseconds on Redis' clock. Texts of tasks may be hostile: each consumer escapes them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import ClassVar, TypeVar

import msgspec
from msgspec.structs import force_setattr

from queueops.inspect.redaction import redactor
from queueops.model.sentences import Sentence, masked, say
from queueops.model.states import State
from queueops.model.stored_sentences import TYPED, Stored

T = TypeVar("T")
SHOWN = 5
"""Broken keys that a sentence names."""


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """Base of the answers with redacted texts: frozen, with named fields."""

    TEXTS: ClassVar[tuple[str, ...]] = ()  # texts of the engine; secrets in them are masked
    TEXTS_OF_TASKS: ClassVar[tuple[str, ...]] = ()  # texts of a task's code; concealed from some users too
    STORED: ClassVar[tuple[str, ...]] = ()  # those of both that may be stored sentences of the engine

    def __post_init__(self) -> None:
        """Redact the texts, for the current user; an answer without any, such as one of 200 points, is ready."""
        if not (self.TEXTS or self.TEXTS_OF_TASKS or self.STORED):
            return
        hide = redactor()
        origin = TYPED if getattr(self, "state", "") == State.CANCELLED else ""
        for name in self.STORED:
            if (text := getattr(self, name)) and type(text) is str:
                force_setattr(self, name, Stored(text, origin))
        for name in self.TEXTS:
            if text := getattr(self, name):
                force_setattr(self, name, masked(text, hide.text))
        for name in self.TEXTS_OF_TASKS:
            if text := getattr(self, name):
                force_setattr(self, name, masked(text, hide.words_of_task))


class Broken(msgspec.Struct, frozen=True, kw_only=True):
    """A pool that could not be read in full.

    Either some keys hold another type than expected, and count as empty. Or the pool's server did not answer.
    """

    pool: str  # "*" means the list of pools
    keys: tuple[str, ...] = ()  # each with its type, and the expected one
    reason: str = ""  # the reason why the server did not answer

    def __str__(self) -> str:
        """The problem in a sentence, with the remedy."""
        return str(self.sentence())

    def sentence(self) -> Sentence:
        """The same, for a reader of any language."""
        if self.reason and self.pool == "*":
            return say(
                "The list of pools cannot be read (%(reason)s): pools that the settings do not name may be missing.",
                reason=self.reason,
            )
        if self.reason:
            return say(
                "Pool %(pool)s does not answer (%(reason)s): its tasks are not shown.",
                pool=self.pool,
                reason=self.reason,
            )
        keys = "; ".join(self.keys[:SHOWN])
        if len(self.keys) > SHOWN:
            keys = say("%(keys)s; and %(more)s more", keys=keys, more=len(self.keys) - SHOWN)
        if self.pool == "*":
            return say(
                "The list of pools is broken: %(keys)s. Another program wrote there: delete or restore the key.",
                keys=keys,
            )
        return say(
            "Pool %(pool)s is broken: %(keys)s. Another program wrote there: delete or restore the key.",
            pool=self.pool,
            keys=keys,
        )


class Listing(list[T]):
    """Rows, and the pools that could not be read in full."""

    def __init__(self, rows: Iterable[T] = (), broken: tuple[Broken, ...] = ()) -> None:
        """`broken` names the pools whose rows may be missing."""
        super().__init__(rows)
        self.broken = broken


def broken_pools(found: Mapping[str, Iterable[str]], silent: Mapping[str, str] | None = None) -> tuple[Broken, ...]:
    """The pools with broken keys, and those whose server did not answer, sorted by name."""
    known = [Broken(pool=pool, keys=keys) for pool, each in found.items() if (keys := tuple(each))]
    known += [Broken(pool=pool, reason=reason) for pool, reason in (silent or {}).items()]
    return tuple(sorted(known, key=lambda broken: broken.pool))
