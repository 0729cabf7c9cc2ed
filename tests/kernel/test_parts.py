"""Functions of includes are made when they are missed: the same scripts, at a fraction of the cost."""

from __future__ import annotations

import re

import pytest

from queueops.redis.parts import BASE, made_late, marked
from queueops.redis.scripts import source
from tests.kernel.desk import Desk
from tests.kernel.test_loader import FILES, INCLUDES, LUA

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
