"""Functions of includes are made when they are missed: the same scripts, at a fraction of the cost."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

import pytest

from queueops.redis.lua_linker import BASE, flattened, made_late, marked
from queueops.redis.scripts import source
from tests.kernel.desk import Desk
from tests.kernel.test_loader import FILES, INCLUDES, LUA, written

STRING = re.compile(r"'[^'\n]*'")
COMMENT = re.compile(r"--[^\n]*")
DEFINED = re.compile(r"^local function (\w+)", re.MULTILINE)
SCRIPT = (
    marked("clock", "local P = KEYS[1]\nlocal function twice(n) return 2 * n end\n")
    + marked(
        "one",
        "local later\nlocal seen = 0\n"
        "local function first(n)\n  seen = seen + 1\n  return later(n)\nend\n"
        "function later(n)\n  return twice(n) + seen\nend\n",
    )
    + marked(
        "two",
        "local outcomes = {}\nlocal function add_one(n) return n + 1 end\n"
        "function outcomes.good(n)\n  return add_one(n)\nend\noutcomes.better = outcomes.good\n",
    )
    + "return { first(10), first(10), outcomes.better(1), outcomes.none == nil and P }\n"
)


def top_names(text: str) -> Iterator[str]:
    """The names that a file declares outside of its functions."""
    for names in re.findall(r"^local (?!function\b)([\w, ]+?)(?: =|$)", text, re.MULTILINE):
        yield from names.replace(" ", "").split(",")
    yield from DEFINED.findall(text)


def test_a_script_in_parts_does_what_it_did(desk: Desk) -> None:
    assert desk.client.eval(made_late(SCRIPT), 1, "p") == [21, 22, 2, b"p"]


def test_what_is_not_called_is_not_made(desk: Desk) -> None:
    broken = marked("clock", "") + marked("one", "local function fails() return nothing.at.all end\n") + "return 1\n"
    assert desk.client.eval(made_late(broken), 1, "p") == 1


@pytest.mark.parametrize("name", FILES)
def test_the_functions_of_includes_are_only_called_never_used_as_values(name: str) -> None:
    text = COMMENT.sub("", STRING.sub("''", source(name)))
    for include in set(INCLUDES) - set(BASE):
        for function in DEFINED.findall((LUA / "include" / f"{include}.lua").read_text()):
            value = re.search(rf"(?<![\w.:]){function}\b(?!\s*=[^=])", text)
            variable = re.search(rf"(?:local|for|function)\b[^\n]*[ (,]{function}\b", text)
            assert not value or variable, f"{function} of {include} is used as a value"


@pytest.mark.parametrize("name", FILES)
def test_no_two_includes_of_a_script_have_a_variable_or_a_function_of_the_same_name(name: str) -> None:
    main = written(name)
    names = {
        include: set(top_names((LUA / "include" / f"{include}.lua").read_text()))
        for include in re.findall(r"--@include (\w+)", main)
    }
    said = Counter(word for words in names.values() for word in words)
    said["call"] = 1  # `looking` has one that takes the place of the first
    assert [word for word, times in said.items() if times > 1] == []
    late = {word for include, words in names.items() if include not in BASE for word in words}
    assert late & set(DEFINED.findall(main)) == set()


@pytest.mark.parametrize("name", FILES)
def test_what_an_include_says_outside_of_its_functions_calls_none_of_them(name: str) -> None:
    text = COMMENT.sub("", source(name)).partition("return (function()\n")[2]
    assert re.findall(r"F\.\w_(?!fill_)\w+\(", text.partition("local function make()")[0]) == []


def test_a_namespace_costs_no_table(desk: Desk) -> None:
    functions = "function verbs.go(n)\n  return verbs.twice(n) + 1\nend\nfunction verbs.twice(n) return 2 * n end\n"
    body = marked("clock", "") + marked("one", f"local verbs = {{}}\n{functions}")
    text = flattened(body + "return verbs.go(4)\n")
    assert "verbs." not in text
    assert "verbs = {}" not in text
    assert desk.client.eval(made_late(text), 1, "p") == 9


def test_many_variables_are_shared_among_groups_of_makers(desk: Desk) -> None:
    def include(number: int) -> str:
        names = [f"v{number}x{each}" for each in range(30)]
        functions = f"local function sum{number}() return {' + '.join(names)} end\n"
        return marked(f"n{number}", "".join(f"local {name} = {number}\n" for name in names) + functions)

    body = marked("clock", "") + "".join(include(number) for number in range(5))
    assert desk.client.eval(made_late(body + "return { sum0(), sum1(), sum2(), sum3(), sum4() }\n"), 1, "p") == [
        0, 30, 60, 90, 120
    ]  # fmt: skip
