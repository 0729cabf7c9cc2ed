"""The kernel's Python names no kind, but for what is listed: it finds a kind by its row and its roles."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from queueops.model import kinds
from queueops.model.fields import KERNEL_FIELDS
from queueops.model.kinds import KINDS
from queueops.model.records import Record, decode
from queueops.model.states import State, table
from tests.kernel.known_words import FACADES, FOREIGN, IMPORTING, KNOWN, NO_FIELDS, PUBLIC
from tests.support.for_each import for_each

ROOT = Path(__file__).resolve().parents[2]
ENGINE = ROOT / "queueops"
OF_PARTS = r"chunk|map_?reduce|composite|outbox"
OF_OTHERS = r"(?<![a-z])jobs?(?![a-z])|workflow|activit(?:y|ies)|schedule(?!r)|follow_?up|bulk|django_task"
WORDS = re.compile(rf"\w*(?:{OF_PARTS}|{OF_OTHERS})\w*", re.IGNORECASE)
"""Words that only kinds have; `callback`, `chain`, `group` and `iterator` are words of Python, too."""
NAMES = ("id", "attr", "arg", "name", "asname", "module")
"""The fields of nodes of the syntax tree that hold names."""
RECORDS = tuple(record for kind in KINDS for record in kind.records)
STATES = {*map(str, table().states)} - {*map(str, State)}
"""The states of kinds. As names they are words of Python, too: `mapping` alone is no state, `MAPPING` is one."""
PACKAGES = tuple(f"{kind.package}." for kind in KINDS if kind.package)
ROLE_MODULES = {
    path.partition(":")[0].removeprefix("queueops.").replace(".", "/") + ".py"
    for kind in KINDS
    for path in (kind.fields, kind.control, kind.inspect, kind.why, kind.cli, kind.alarms, *kind.commands.values())
    if path.startswith("queueops.")
}
FIELDS_OF_KINDS = kinds.fields().keys() - KERNEL_FIELDS.keys()
LISTED = (KNOWN, IMPORTING, PUBLIC, FOREIGN)
ABOVE = ("contrib", "errors", "kinds", "testing", *(package.split(".")[1] for package in PACKAGES))
"""Folders of kinds and of what is above them. Error classes are public names, also those of kinds."""
KERNEL = {
    name: path
    for path in sorted(ENGINE.rglob("*.py"))
    if (name := path.relative_to(ENGINE).as_posix()) not in {*FACADES, *ROLE_MODULES}
    and name.split("/")[0] not in ABOVE
}


def words_of(text: str) -> set[str]:
    """What code names of kinds: in its names, and in its texts but for docstrings."""
    found: set[str] = set()
    tree = ast.parse(text)
    docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str | bytes) and id(node) not in docs:
            content = node.value if isinstance(node.value, str) else node.value.decode("latin-1")
            found.update([content] if content in (*RECORDS, *STATES) else WORDS.findall(content))
        for name in NAMES:
            if isinstance(value := getattr(node, name, None), str):
                found.update([value] if value.isupper() and value.lower() in STATES else WORDS.findall(value))
    return found


def imports_of(path: Path, *, at_run_time: bool = False) -> Iterator[str]:
    """The modules that a file imports, also those that only a type checker reads, or without these."""
    tree = ast.parse(path.read_text())
    if at_run_time:
        tree.body = [node for node in tree.body if not (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node))]
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{each.name}" for each in node.names)
        elif isinstance(node, ast.Import):
            yield from (each.name for each in node.names)


@for_each("name", KERNEL)
def test_a_python_file_of_the_kernel_names_no_more_of_kinds_than_is_listed(name: str) -> None:
    found = sorted(words_of(KERNEL[name].read_text()))
    assert found == sorted(word for table in LISTED for word in table.get(name, "").split()), (
        "let the kind bring it, and shorten tests/kernel/known_words.py"
    )


def fields_of(text: str) -> set[str]:
    """The texts of code that are names of fields of kinds in the store, but for docstrings."""
    tree = ast.parse(text)
    docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    texts = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in docs)
    names = {each.decode("latin-1") if isinstance(each, bytes) else each for each in texts if each is not ...}
    return {each for each in names if each in FIELDS_OF_KINDS}


@for_each("name", KERNEL)
def test_a_python_file_of_the_kernel_uses_no_field_of_a_kind(name: str) -> None:
    found = fields_of(KERNEL[name].read_text()) - set(NO_FIELDS.get(name, "").split())
    assert found == set(), "let the kind bring it by a role, or declare the field as the kernel's"


def test_the_list_has_no_file_that_is_gone() -> None:
    assert {name for table in (*LISTED, NO_FIELDS) for name in table} - set(KERNEL) == set()


def of_a_kind(module: str) -> bool:
    """Whether a module is one of a kind."""
    return f"{module}.".startswith(PACKAGES)


def test_no_file_of_the_kernel_imports_a_module_of_a_kind() -> None:
    found = {
        name: wrong
        for name, path in KERNEL.items()
        if (wrong := [each for each in imports_of(path, at_run_time=name in IMPORTING) if of_a_kind(each)])
    }
    assert found == {}, "let the row of the kind in queueops.model.kind_rows name it"


def test_a_record_has_the_fields_of_the_kernel_and_apart_those_of_kinds() -> None:
    kernel = {each.name for each in KERNEL_FIELDS.values()}
    assert {*Record.__struct_fields__} == {*kernel, "id", "pool", "own"}
    owned = {each.name: short for short, each in kinds.fields().items() if short not in KERNEL_FIELDS}
    found = decode("a", "default", {b"n": b"n", b"s": b"pending", **{short.encode(): b"1" for short in owned.values()}})
    assert found.own.keys() == owned.keys()


def test_a_word_of_a_kind_is_found_in_names_and_texts() -> None:
    code = '"""A chunk."""\nimport queueops\nqueueops.drop_chunks("the outbox", b"group", "a group", chain)\n'
    assert words_of(code) == {"drop_chunks", "outbox", "group"}
    assert words_of('State.MAPPING in ("reducing", "failed", mapping)') == {"MAPPING", "reducing"}


def test_a_field_of_a_kind_is_found_in_texts() -> None:
    assert fields_of('"""fu"""\nread(b"cc", "fu", "n", "no field", ..., 1, None)\n') == {"cc", "fu"}
