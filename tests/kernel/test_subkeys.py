"""Sub-keys: one table has their names, and deletion, trash and retention follow it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import queueops
from queueops import control
from queueops.model import subkeys
from queueops.redis import keys
from tests.kernel.desk import Desk
from tests.kernel.test_library import COMMENT, FILES
from tests.kernel.test_modules_of_kinds import KERNEL

FIELDS = {"#brief", "#due"}
"""Fields of a lease and of a waiting push: no field of a record has a name like that."""
ROOT = Path(queueops.__file__).parent
OF_THE_TABLE = ("model/subkeys.py",)
EXAMPLES = {"model/kinds.py": {"#rounds"}, "redis/keys.py": {"#queue"}}
PYTHON = [
    path
    for path in sorted(ROOT.rglob("*.py"))
    if not path.is_relative_to(ROOT / "kinds") and path.relative_to(ROOT).as_posix() not in OF_THE_TABLE
]
NAME = re.compile(r"#[a-z][a-z0-9_]*(?![\w:])")


def written_in_lua(path: Path) -> set[str]:
    """What stands like a sub-key in the strings of a Lua file."""
    strings = re.findall(r"'((?:[^'\\\n]|\\.)*)'", COMMENT.sub("", path.read_text()))
    return {name for text in strings for name in NAME.findall(text)} - FIELDS


def strings_of(path: Path) -> Iterator[str]:
    """The strings of a Python file, without docstrings."""
    tree = ast.parse(path.read_text())
    told = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and id(node) not in told and isinstance(node.value, str | bytes):
            yield node.value if isinstance(node.value, str) else node.value.decode("latin-1")


def test_lua_takes_the_names_of_sub_keys_from_the_table() -> None:
    """A kind may have keys beside its records that only its own files know, such as ``#chunks:done``."""
    known = {f"#{name}" for name in keys.subkey_names()}
    written = {path: written_in_lua(path) for path in FILES}
    found = {path.name: names if path in KERNEL else names & known for path, names in written.items()}
    assert {name: names for name, names in found.items() if names} == {}, "write SUBKEY.<name>"


def test_the_kernels_python_takes_the_names_of_sub_keys_from_the_table() -> None:
    found = {}
    for path in PYTHON:
        name = path.relative_to(ROOT).as_posix()
        names = {match[0] for text in strings_of(path) if (match := re.search(r"#[a-z][a-z0-9_]*$", text))}
        found[name] = names - FIELDS - EXAMPLES.get(name, set())
    assert {name: names for name, names in found.items() if names} == {}, "take it from queueops.model.subkeys"


def test_a_lua_file_uses_only_names_that_the_table_has() -> None:
    used = {name for path in FILES for name in re.findall(r"\bSUBKEY\.(\w+)", path.read_text())}
    assert used - set(keys.subkey_names()) == set()


def test_each_sub_key_of_the_table_is_a_known_key() -> None:
    for owner, beside in (("task:<id>", subkeys.RECORD), ("lane:<lane>", subkeys.LANE)):
        for each in beside:
            assert keys.types().get(f"{owner}{each.name}", "channel") == each.type


def test_a_record_takes_its_sub_keys_to_the_trash_and_back_and_nothing_of_an_earlier_one(desk: Desk) -> None:
    def beside(place: str) -> set[str]:
        found = desk.client.keys(f"{desk.keys.prefix}:{place}:a#*")
        return {key.decode().partition("#")[2] for key in found}

    desk.push("a")
    desk.drain()
    desk.client.rpush(desk.keys.log("a"), "{}")
    control.delete(["a"])
    assert (beside("task"), beside("trash")) == (set(), {"log"})
    control.restore(["a"])
    assert (beside("task"), beside("trash")) == ({"log"}, set())
    control.delete(["a"])
    desk.push("a")
    desk.drain()
    assert [row.word for row in control.delete(["a"])] == ["OK"]
    assert (beside("task"), beside("trash")) == (set(), set())
