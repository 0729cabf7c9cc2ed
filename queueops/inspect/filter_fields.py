"""Fields of a task filter: what each compares, and the conditions that the store checks for each candidate."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

from queueops.errors import FilterError
from queueops.inspect import filter_values
from queueops.inspect.filter_syntax import All, Either, Node, Not, Term, refuse
from queueops.inspect.filter_values import Bounds
from queueops.model.explained import advised
from queueops.model.sentences import say
from queueops.model.states import FINISHED, TERMINAL, State, states_of

Condition = bool | list[Any]
"""A condition as the store reads it: a list of an operator and its operands. A truth value holds for all tasks."""
LONGEST = 200


class Field(NamedTuple):
    """A field: its short name in a record, an example of its use, and how its values are read (None: texts)."""

    short: str
    example: str
    about: str
    bounds: Callable[[str, str, str], Bounds] | None = None
    also: str = ""  # another field of a record that may have the value


FIELDS: dict[str, Field] = {
    "state": Field("s", "state:failed", say("state of the task, or several between commas; finished: all ended ones")),
    "name": Field("n", "name:shop.*", say("name of the task")),
    "lane": Field("l", "lane:bulk", say("lane")),
    "pool": Field("pool", "pool:mail", say("pool")),
    "kind": Field("k", "kind:chain", say("kind of the task")),
    "tag": Field("tg", "tag:vip", say("tag")),
    "error": Field("er", "error:Timeout", say("type or message of the last error, or its fingerprint")),
    "worker": Field("w", "worker:web-3", say("worker of the latest start")),
    "id": Field("id", "id:order-*", say("id")),
    "text": Field("a", 'text:"order 4711"', say("text in the arguments or the id")),
    "parent": Field("pi", "parent:01KB*", say("id of the parent task")),
    "key": Field("lk", "key:user_id=42", say("key of its limits"), also="ck"),
    "age": Field("age", "age>10m", say("time since the push"), filter_values.span),
    "waited": Field(
        "waited", "waited>5m", say("time from the push to the latest start, or until now"), filter_values.span
    ),
    "ran": Field("ran", "ran>30s", say("duration of the latest run, or its time until now"), filter_values.span),
    "pushed": Field("c", "pushed:2026-11-27..28", say("time of the push"), filter_values.moment),
    "started": Field("b", "started>2026-11-27T10:00", say("time of the latest start"), filter_values.moment),
    "ended": Field("e", "ended:today", say("time of the end"), filter_values.moment),
    "due": Field("d", "due<2026-11-27T10:00", say("time of the next start"), filter_values.moment),
    "attempts": Field("at", "attempts>2", say("attempts that failed"), filter_values.number),
    "crashes": Field("cr", "crashes>0", say("starts that were lost with their worker"), filter_values.number),
    "priority": Field("p", "priority>=10", say("priority"), filter_values.number),
}
"""The fields of the grammar, in the order in which they are offered."""
WORDS = {
    **dict.fromkeys(("startable", "ready", "queued"), str(State.PENDING)),
    **dict.fromkeys(("running", "active", "started"), str(State.LOCKED)),
    **dict.fromkeys(("retry", "retrying", "backing_off"), str(State.RESTART)),
    **dict.fromkeys(("delayed",), str(State.POSTPONED)),
    **dict.fromkeys(("done", "completed"), str(State.SUCCEEDED)),
    **dict.fromkeys(("dead", "error"), str(State.FAILED)),
    "canceled": str(State.CANCELLED),
    "ended": FINISHED,
}
"""Other words for a state in a filter. Answers have the state's own name."""
PARTS = ("worker",)
"""Fields that a part of their value matches: `worker:web-3` has all processes of this host."""


def check(term: Term) -> None:
    """Raise FilterError, with the position, for a term that says nothing the store can check."""
    if not term.field:
        return
    if term.field not in FIELDS:
        refuse(
            term.at,
            say(
                "%(field)s is not a field, and a text with : stands between quotes%(advice)s",
                field=repr(term.field),
                advice=advised(term.field, FIELDS),
            ),
        )
    field = FIELDS[term.field]
    if len(term.value) > LONGEST:
        values = {"field": term.field, "most": str(LONGEST)}
        refuse(term.at, say("the value of %(field)s is longer than %(most)s characters.", **values))
    if field.bounds is None and term.operator != ":":
        values = {"field": term.field, "operator": term.operator, "example": field.example}
        refuse(term.at, say("%(field)s is not compared with %(operator)s: write %(example)s", **values))
    if field.bounds is None and not term.value.strip("*"):
        refuse(term.at, say("%(field)s needs a value: write %(example)s", field=term.field, example=field.example))
    try:
        if field.bounds is not None:
            field.bounds(term.operator, term.value, field.example)
    except FilterError as error:
        refuse(term.at, error.reason)


def known_states(term: Term) -> Term:
    """The term with the own names of its states. Raises FilterError."""
    try:
        return term._replace(value=states_named(term.value))
    except FilterError as error:
        refuse(term.at, error.reason)


def states_named(words: str) -> str:
    """The own names of the states that these words name, with commas between them. Raises FilterError."""
    each = [word.strip() for word in words.split(",") if word.strip()] or [words]
    named = {state for word in each for state in states_of(_state_named(word))}
    if named == set(TERMINAL):
        return FINISHED
    return ",".join(state for state in states_of("") if state in named)


def _state_named(word: str) -> str:
    known = states_of("")
    if word in (FINISHED, *known):
        return word
    if word in WORDS:
        return WORDS[word]
    raise FilterError(
        reason=say("there is no state %(state)s%(advice)s", state=repr(word), advice=advised(word, (*known, *WORDS)))
    )


def condition(node: Node, pool: str, *, types_only: bool, negated: bool = False) -> Condition:
    """The condition of a tree for the tasks of a pool. With `types_only` the messages of errors are not compared.

    Under a negation they are never compared: the result would tell what a masked message holds.
    """
    match node:
        case Not(of):
            inner = condition(of, pool, types_only=types_only, negated=not negated)
            return not inner if isinstance(inner, bool) else ["not", inner]
        case All(parts):
            return _joined("and", [condition(part, pool, types_only=types_only, negated=negated) for part in parts])
        case Either(parts):
            return _joined("or", [condition(part, pool, types_only=types_only, negated=negated) for part in parts])
        case Term():
            return _of_term(node, pool, types_only=types_only or negated)


def encoded(found: Condition) -> str:
    """The condition as the store reads it; empty if all tasks match."""
    return "" if found is True else json.dumps(["or"] if found is False else found, separators=(",", ":"))


def lowered(text: str) -> str:
    """The text with small ASCII letters, as the store lowers it."""
    return text.encode("utf-8", "replace").lower().decode("utf-8", "replace")


def _joined(word: str, parts: list[Condition]) -> Condition:
    decides = word == "or"  # the truth value that decides alone
    if decides in [part for part in parts if isinstance(part, bool)]:
        return decides
    left = [part for part in parts if not isinstance(part, bool)]
    return left[0] if len(left) == 1 else [word, *left] if left else not decides


def _of_term(term: Term, pool: str, *, types_only: bool) -> Condition:
    if not term.field:
        return ["word", lowered(term.value)]
    field = FIELDS[term.field]
    if field.bounds is not None:
        least, most = field.bounds(term.operator, term.value, field.example)
        return ["range", field.short, least is not None and least, most is not None and most]
    if term.field == "pool":
        return likes(term.value.split("*"), pool)
    if term.field == "error":
        needle = lowered(json.dumps(term.value.strip("*"), ensure_ascii=False)[1:-1])
        return ["error", needle, "type" if types_only else "", term.value.strip("*")]
    word, value = "is", term.value  # type: str, str | list[str]
    if "*" in term.value or term.field in PARTS:
        word, value = "like", (f"*{term.value}*" if term.field in PARTS else term.value).split("*")
    found = [word, field.short, value]
    return ["or", found, [word, field.also, value]] if field.also else found


def likes(parts: list[str], value: str) -> bool:
    """Whether a value has the parts between the stars of a pattern, in this order."""
    first, *others = parts
    if not others:
        return value == first
    if not value.startswith(first):
        return False
    at = len(first)
    for part in others[:-1]:
        if (at := value.find(part, at)) < 0:
            return False
        at += len(part)
    return len(value) - at >= len(others[-1]) and value.endswith(others[-1])
