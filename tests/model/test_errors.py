"""Errors explain themselves, and the code fills in what they need."""

from __future__ import annotations

import ast
import copy
import string
from collections.abc import Iterator
from pathlib import Path

from queueops import errors
from queueops.errors import BadOption, Explained, QueueOpsError, StoreFull, TaskFailed, advice
from tests.support.for_each import for_each

ROOT = Path(__file__).parents[2]
CLASSES = {
    name: found
    for name, found in vars(errors).items()
    if isinstance(found, type) and issubclass(found, Explained) and found is not Explained
}


def fields(cls: type[Explained]) -> set[str]:
    """The fields in the message of a class."""
    text = (cls.__doc__ or "").split("\n\n", 1)[0]
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


@for_each("cls", CLASSES.values())
def test_every_error_has_a_message_and_declares_its_fields(cls: type[Explained]) -> None:
    assert cls.__doc__
    declared = {name for base in cls.__mro__ for name in getattr(base, "__annotations__", {})}
    assert fields(cls) <= declared


@for_each("cls", CLASSES.values())
def test_every_error_can_be_made_with_nothing_and_copied(cls: type[Explained]) -> None:
    made = cls()
    assert str(copy.copy(made)) == str(made)


def test_only_interrupts_pass_by_a_tasks_own_except_exception() -> None:
    outside = {name for name, cls in CLASSES.items() if not issubclass(cls, Exception)}
    assert {name for name in outside if not issubclass(CLASSES[name], errors.Interrupt)} == set()
    assert {name for name, cls in CLASSES.items() if issubclass(cls, Exception)} == {
        name for name, cls in CLASSES.items() if issubclass(cls, QueueOpsError)
    }


def test_fields_are_attributes_and_hostile_text_in_them_stays_text() -> None:
    error = TaskFailed(id="7", type="ValueError", message="{id} {0} %s", traceback="...")
    assert str(error) == "The task 7 failed: ValueError: {id} {0} %s"
    assert (error.id, error.traceback) == ("7", "...")


def test_the_nearest_cause_of_a_class_is_found() -> None:
    inner = StoreFull(reason="x")
    outer = QueueOpsError("outer")
    outer.__cause__ = inner
    assert StoreFull.unwrap(outer) is inner
    assert TaskFailed.unwrap(outer) is None


@for_each(
    ("word", "known", "text"),
    [
        ("limt", ["limit", "rate"], "; did you mean 'limit'?"),
        ("zzz", ["limit", "rate"], "; known are: limit, rate"),
        ("zzz", [], "; there are none"),
        ("url", ["URL", "POOLS"], "; did you mean 'URL'?"),
        ("zzz", [f"{n:02}" for n in range(50)], "; known are: " + ", ".join(f"{n:02}" for n in range(40)) + ", …"),
    ],
)
def test_advice_names_the_nearest_word_or_all(word: str, known: list[str], text: str) -> None:
    assert advice(word, known) == text


def raised() -> Iterator[tuple[str, str, set[str]]]:
    """Every place in the code that makes an error by its fields: where, which, and the fields it gives."""
    for path in [file for name in ("queueops", "console", "queueops_demo") for file in (ROOT / name).rglob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Call) or node.args or any(keyword.arg is None for keyword in node.keywords):
                continue
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            if name in CLASSES:
                yield f"{path.relative_to(ROOT)}:{node.lineno}", name, {str(one.arg) for one in node.keywords}


def test_whoever_raises_an_error_gives_it_all_its_fields() -> None:
    missing = {f"{place} {name}": fields(CLASSES[name]) - given for place, name, given in raised()}
    assert {place: names for place, names in missing.items() if names} == {}


def test_a_question_at_the_end_of_a_message_has_no_full_stop_behind_it() -> None:
    told = BadOption(name="name", value="oder", expected=f"a workflow{advice('oder', ['order'])}")
    assert str(told) == "The option name is 'oder', but it must be a workflow; did you mean 'order'?"
