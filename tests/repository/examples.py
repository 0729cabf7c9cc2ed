"""The Python examples of the pages in `docs/`, and what running them defines."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[2] / "docs"
PYTHON = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
SAID = re.compile(r"^(?P<code>[^#\n]+?)  # -> (?P<value>.+)$", re.MULTILINE)


def examples(page: str) -> list[str]:
    """The examples of a page, in their order."""
    return PYTHON.findall((DOCS / page).read_text())


def executed(page: str, without: str = "\0", **given: Any) -> dict[str, Any]:
    """Run the examples of a page, but for those with a text, and return what they define.

    What stands behind an arrow is the value of the line.
    """
    names: dict[str, Any] = {"__name__": f"docs_{page.removesuffix('.md').replace('/', '_')}", "same": same, **given}
    for example in examples(page):
        if without in example:
            continue
        proved = SAID.sub(lambda said: f"same({said['code']}, {said['value']})", example)
        exec(compile(proved, page, "exec"), names)
    return names


def same(value: object, expected: object) -> None:
    assert value == expected
