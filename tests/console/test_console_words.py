"""The console outside the folders of kinds names no kind, but for what is listed: it asks their registrations."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from console.ui.kind_pages import kind_pages, verbs_of_kinds
from queueops.control.verbs import VERBS
from queueops.model import kinds
from queueops.model.fields import KERNEL_FIELDS
from queueops.model.kinds import KINDS
from tests.console.known_words import FOREIGN, KNOWN, PROJECT
from tests.support.for_each import for_each

ROOT = Path(__file__).resolve().parents[2]
OF_PARTS = r"chunk|(?<![a-z])children(?![a-z])|map[_-]?reduce|composite|iterator|outbox|callback|aggregations?(?![a-z])"
OF_OTHERS = r"(?<![a-z])jobs?(?![a-z])|workflow|activit(?:y|ies)|schedul(?!er)|follow[_ -]?up|django_task|bulk_action"
OF_STATES = r"(?<![a-z])(?:mapping|aggregating|reducing)(?![a-z])"
FIELDS_OF_KINDS = {
    each.name for short, each in kinds.fields().items() if short not in KERNEL_FIELDS and "_" in each.name
}
"""Fields of kinds, as a record has them in `own`; a name of one word, such as `rate`, means other things too."""
WORDS = re.compile(rf"(?i:\w*(?:{OF_PARTS}|{OF_OTHERS}|{OF_STATES})\w*)|\b(?:{'|'.join(sorted(FIELDS_OF_KINDS))})\b")
"""Words that only kinds have; `chain`, `group` and `run` are words of errors, Python and workers, too."""
NAMES = ("id", "attr", "arg", "name", "asname", "module")
"""The fields of nodes of the syntax tree that hold names."""
OF_PYTHON = {"Iterator", "Mapping", "collections"}
RECORDS = {record for kind in KINDS for record in kind.records}
FOLDERS = {kind.name for kind in KINDS}
"""Each kind has its templates in a folder of its name."""
MARKS = re.compile(r"(?:{% pieces |pieces_at\()[\"']([a-z.]+)[\"']")
LISTED = (KNOWN, PROJECT, FOREIGN)
PYTHON = {
    path.relative_to(ROOT).as_posix(): path
    for path in sorted((ROOT / "console").rglob("*.py"))
    if path.relative_to(ROOT).parts[1] not in ("kinds", "migrations")
}
TEMPLATES = {
    path.relative_to(ROOT).as_posix(): path
    for path in sorted((ROOT / "templates/console").rglob("*.html"))
    if path.relative_to(ROOT).parts[2] not in FOLDERS
}


def words_of_code(text: str) -> Iterator[str]:
    """What code names of kinds: in its names, and in its texts but for docstrings."""
    tree = ast.parse(text)
    docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
            yield from [node.value] if node.value in RECORDS else WORDS.findall(node.value)
        for name in NAMES:
            if isinstance(value := getattr(node, name, None), str) and value not in OF_PYTHON:
                yield from WORDS.findall(value)


def words_of_template(text: str) -> Iterator[str]:
    """What a template names of kinds: in its text, and in its tags, where a word in quotes may be a record."""
    yield from WORDS.findall(text)
    for tag in re.findall(r"{[{%].*?[%}]}", text):
        yield from (word for word in re.findall(r"[\"'](\w+)[\"']", tag) if word in RECORDS and not WORDS.search(word))


def listed(name: str) -> list[str]:
    return sorted(word for table in LISTED for word in table.get(name, "").split())


@for_each("name", PYTHON)
def test_a_file_of_the_console_names_no_more_of_kinds_than_is_listed(name: str) -> None:
    assert sorted(words_of_code(PYTHON[name].read_text())) == listed(name), (
        "let the registration of the kind bring it (console/ui/kind_pages.py)"
    )


@for_each("name", TEMPLATES)
def test_a_template_names_no_more_of_kinds_than_is_listed(name: str) -> None:
    assert sorted(words_of_template(TEMPLATES[name].read_text())) == listed(name), (
        "let the kind bring a part of the page ({% pieces %}), in its own folder of templates"
    )


def test_the_lists_have_no_file_that_is_gone() -> None:
    assert {name for table in LISTED for name in table} - {*PYTHON, *TEMPLATES} == set()


def test_each_folder_of_pages_and_of_templates_is_one_of_a_kind() -> None:
    pages = {path.parent.name for path in (ROOT / "console/kinds").glob("*/registration.py")}
    assert pages == {kind.name for kind in KINDS if kind.console}


def test_the_places_of_parts_of_pages_are_those_of_the_docs_and_kinds_use_no_other() -> None:
    files = [*(ROOT / "templates/console").rglob("*.html"), *(ROOT / "console").rglob("*.py")]
    marked = {place for path in files for place in MARKS.findall(path.read_text())}
    table = (ROOT / "docs/kinds.md").read_text().partition("| place |")[2].partition("\n\n")[0]
    named = {place for line in table.splitlines() for place in re.findall(r"`([a-z.]+)`", line.split(" | ")[0])}
    used = {place for pages in kind_pages() for place in pages.pieces}
    assert (marked, used) == (named, named)


def test_no_verb_state_or_place_of_a_record_has_two_owners() -> None:
    for role in ("verbs", "states", "usual", "facts", "remedies"):
        names = [name for pages in kind_pages() for name in getattr(pages, role)]
        assert len(names) == len(set(names)), role
    assert not {*VERBS}.intersection(verbs_of_kinds())


def test_a_word_of_a_kind_is_found_in_code_and_in_templates() -> None:
    code = '"""A chunk."""\nfrom x import chunk_of\nlabel("Drop callbacks", "chain", "a chain", is_cut)\nx: Iterator\n'
    assert sorted(words_of_code(code)) == ["callbacks", "chain", "chunk_of", "is_cut"]
    page = '{% if task.kind == "group" or state == "mapping" %}The chunks of a group{{ task.map_begun }}{% endif %}'
    assert sorted(words_of_template(page)) == ["chunks", "group", "map_begun", "mapping"]
