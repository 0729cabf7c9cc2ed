"""The generated pages of ``docs/``."""

from __future__ import annotations

from pathlib import Path

from queueops import states

DOCS = Path(__file__).parents[1] / "docs"


def test_the_table_of_states_in_the_docs_is_the_table_of_the_code():
    assert (DOCS / "states.md").read_text() == states.as_markdown(), "run: python -m queueops.states > docs/states.md"
