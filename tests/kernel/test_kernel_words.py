"""The kernel's Lua knows no kind: it asks hooks, which kinds fill."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from queueops.model import kinds
from queueops.model.fields import KERNEL_FIELDS
from queueops.model.states import State, table
from tests.kernel.test_library import FILES, MODULE_PATHS, OWNER, needs, used
from tests.support.for_each import for_each

KERNEL = [path for path in FILES if "queueops/redis/lua" in path.as_posix()]
OF_PARTS = "chunk|mapreduce|composite|famil|chain|iterator|child|parent|twin|outbox"
OF_STATES = "|".join(sorted({*table().states} - {*State}))
OF_OTHERS = "job|callback|workflow|activit|aggregations|circuit|schedules|follow_?up|bulk|django"
WORDS = re.compile(rf"\b\w*(?:{OF_PARTS}|{OF_OTHERS}|{OF_STATES})\w*\b|'(?:group|schedule)'|':schedule:")
"""Names of kinds, of their states, and of what only kinds have.

Most tasks are no group, and `enqueue` has groups of its own. `lib.schedule` writes to the agenda of every task.
"""
MODULES_OF_KINDS = {name for name, path in MODULE_PATHS.items() if path not in KERNEL}
OF_KINDS = {name for name, module in OWNER.items() if module in MODULES_OF_KINDS}


def words_of(path: Path) -> set[str]:
    """What a file names of kinds: their modules, functions and values of these, and words of theirs."""
    text = re.sub(r"--.*", "", path.read_text())
    named = needs(path) & MODULES_OF_KINDS | used(path) & OF_KINDS
    return {word.strip("'") for word in WORDS.findall(text)} | named


@for_each("path", KERNEL)
def test_a_file_of_the_kernel_names_no_kind(path: Path) -> None:
    assert sorted(words_of(path)) == [], "let the kind fill a hook (lib/base.lua)"


FIELDS_OF_KINDS = kinds.fields().keys() - KERNEL_FIELDS.keys()
OF_COMMANDS = {"numbers": {"vn"}}
"""Fields of commands of the outbox, which are no records."""


def fields_of(path: Path) -> set[str]:
    """What a file names like a field: behind a dot, or as a text of its own."""
    text = re.sub(r"--.*", "", path.read_text())
    return {*re.findall(r"\.([a-z][a-z0-9]*)\b(?!\s*\()", text), *re.findall(r"'([a-z][a-z0-9]*)'", text)}


@for_each("path", KERNEL)
def test_a_file_of_the_kernel_uses_no_field_of_a_kind(path: Path) -> None:
    found = fields_of(path) & FIELDS_OF_KINDS - OF_COMMANDS.get(path.stem, set())
    assert found == set(), "let the kind fill a hook (lib/base.lua), or declare it as `at_success`"


OUTBOX = "queueops/pool_messages/lua"
"""Kinds send messages by it; it has no records of its own."""
BY_KIND = {
    kind.name: [path for path in FILES if f"{kind.package.replace('.', '/')}/lua" in path.as_posix()]
    for kind in kinds.KINDS
    if kind.package
}


@pytest.mark.parametrize("kind", BY_KIND)
def test_a_kind_knows_no_other_kind(kind: str) -> None:
    own = {path.stem for path in BY_KIND[kind]} | {path.stem for path in FILES if OUTBOX in path.as_posix()}
    others = MODULES_OF_KINDS - own
    foreign = {name for name, module in OWNER.items() if module in others}
    assert BY_KIND[kind]
    found = {path.stem: sorted(used(path) & foreign | needs(path) & others) for path in BY_KIND[kind]}
    assert {name: words for name, words in found.items() if words} == {}, (
        "let the other kind fill a hook (lib/base.lua)"
    )


def test_a_function_of_a_kind_and_a_word_of_a_kind_are_found(tmp_path: Path) -> None:
    path = tmp_path / "sample.lua"
    path.write_text(
        "-- a chunk\n--@needs lanes parent\nif record.k == 'group' or 'it' == 'reducing' then lib.redo_step() end\n"
    )
    assert words_of(path) == {"group", "reducing", "redo_step", "parent"}


def test_a_field_of_a_kind_is_found(tmp_path: Path) -> None:
    path = tmp_path / "sample.lua"
    path.write_text("if record.fb or record.s then call('HDEL', key, 'x', 'ag') end -- record.vi\n")
    assert fields_of(path) & FIELDS_OF_KINDS == {"fb", "ag"}
