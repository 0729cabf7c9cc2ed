"""Old words: a row of `docs/glossary.md` has the word in their place. No text and no name of the product uses them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tests.repository.test_tree import ROOT, ours, shown
from tests.support.for_each import for_each

OLD = {
    r"deeds?": "action",
    r"heirs?": "crash recovery",
    r"outposts?": "idle listener",
    r"plantings?": "composite push",
    r"handoffs?|hand-offs?": "handover",
    r"second[ _]cop(?:y|ies)|speculative[ _]cop(?:y|ies)": "second run",
    r"outbox[ _]messages?": "pool message",
    r"patrols?": "rolling check",
    r"ears?": "subscription",
    r"vigils?": "spin wait",
    r"whoever|somebody|nobody|anybody|everybody": "operator",
}
"""Each old word as a regular expression, and the glossary's word for it. The last row: a text names its subject."""
ANY = re.compile(rf"\b(?:{'|'.join(OLD)})\b", re.IGNORECASE)
PLACES = (
    "queueops",
    "console",
    "queueops_demo",
    "templates",
    "static",
    "docs",
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
)
EXCEPTIONS = {
    ("docs/glossary.md", None): "names the old words",
}
"""File and old word (None: all of them), with the reason."""
WORST = (
    "has moved on",
    "have not beaten",
    "stopped at its budget",
    "was not understood",
    "gone for good",
    "there is nothing here",
    "it was put off",
    "being made ready",
    "begin it there",
)
"""Texts of pages and commands that an operator had to read twice. They stay away."""
STORED = re.compile(r"~planting:|due_entry\.planting")
"""The prefix of a stored agenda entry, and the Lua function that it calls, are not words of a text."""


def found(text: str, name: str = "") -> Iterator[str]:
    """The old words in a text. Parts of a name count: `told_nobody`, `HandoffError`."""
    plain = re.sub(r"([a-z])([A-Z])", r"\1 \2", STORED.sub("", text)).replace("_", " ")
    if not ANY.search(plain):
        return
    for number, line in enumerate(plain.splitlines(), 1):
        for old, word in OLD.items():
            if (name, old) in EXCEPTIONS or (name, None) in EXCEPTIONS:
                continue
            for match in re.finditer(rf"\b(?:{old})\b", line, re.IGNORECASE):
                yield f"{name}:{number}: {match[0]!r}; write {word!r}"


def texts() -> Iterator[tuple[str, str]]:
    """Each file of the product and the docs, its path included, with its text."""
    for path in ours(".py", ".lua", ".html", ".js", ".css", ".md"):
        if path.relative_to(ROOT).parts[0] in PLACES:
            yield shown(path), f"{path.relative_to(ROOT).with_suffix('')} {path.read_text()}"


def test_no_old_word_is_in_code_pages_and_docs() -> None:
    assert [finding for name, text in texts() for finding in found(text, name)] == []


def test_none_of_the_worst_texts_is_back() -> None:
    shown_texts = ((name, text.lower()) for name, text in texts())
    assert [(name, worst) for name, text in shown_texts for worst in WORST if worst in text] == []


def test_each_old_word_has_a_row_in_the_glossary() -> None:
    words = re.findall(r"^\| ([^|]+?) \|", (ROOT / "docs" / "glossary.md").read_text(), re.MULTILINE)
    assert set(OLD.values()) - {word for row in words for word in row.split(", ")} == set()


def test_each_exception_is_needed() -> None:
    for name, old in EXCEPTIONS:
        text = (ROOT / Path(name)).read_text()
        assert old is None or re.search(rf"\b(?:{old})\b", text, re.IGNORECASE), (name, old)


@for_each("text", ["class Handoff:", "told_nobody = 1", "# the second copy ends", "Deeds", "OutboxMessages"])
def test_an_old_word_is_found(text: str) -> None:
    assert len(list(found(text))) == 1
