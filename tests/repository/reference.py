"""API reference: `python -m tests.repository.reference` writes `docs/reference.md` anew, from the docstrings."""

from __future__ import annotations

import enum
import inspect
import os
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import django

from queueops.errors import Explained

PAGE = Path(__file__).parents[2] / "docs" / "reference.md"
PACKAGES = (
    "queueops",
    "queueops.control",
    "queueops.events",
    "queueops.inspect",
    "queueops.jobs",
    "queueops.schedules",
    "queueops.testing",
)
HEAD = """# Reference

The public API, generated from signatures and docstrings. `python -m tests.repository.reference` writes this page anew.
"""


def page() -> str:
    """The whole page."""
    return HEAD + "".join(line for package in PACKAGES for line in _package(package))


def _package(name: str) -> Iterator[str]:
    module: Any = import_module(name)
    yield f"\n## {name}\n\n{_words(module)}\n"
    for public in sorted(module.__all__):
        thing = getattr(module, public)
        yield f"\n### {name}.{public}\n\n{_signature(public, thing)}{_words(thing)}\n"
        if inspect.isclass(thing):
            members = list(_members(thing))
            yield from (f"\n- {line}" for line in members)
            yield "\n" if members else ""


def _signature(name: str, thing: Any) -> str:
    if not callable(thing) or (inspect.isclass(thing) and issubclass(thing, enum.Enum)):
        return ""
    if inspect.isclass(thing) and thing.__init__ is Explained.__init__:  # its fields are in its text
        return ""
    try:
        text = str(inspect.signature(thing))
    except (TypeError, ValueError):
        return ""
    return f"```py\n{name}{_plain(text)}\n```\n\n"


def _members(cls: type) -> Iterator[str]:
    """The public methods that the class itself defines, each with the first line of its docstring."""
    for name, member in sorted(vars(cls).items()):
        function = getattr(member, "__func__", member)
        if name.startswith("_") or not inspect.isfunction(function) or not function.__doc__:
            continue
        first = inspect.cleandoc(function.__doc__).splitlines()[0]
        yield f"`{name}{_plain(str(inspect.signature(function)))}`: {first}"


def _plain(signature: str) -> str:
    """Without quotes around annotations, and without addresses of objects, which differ from run to run."""
    signature = re.sub(r"(: |-> )'([^']*)'", r"\1\2", signature)
    return re.sub(r" at 0x[0-9a-f]+|\b(typing|queueops(\.\w+)+|collections\.abc)\.", "", signature)


def _words(thing: Any) -> str:
    if inspect.isclass(thing) or inspect.isfunction(thing) or inspect.ismodule(thing):
        return inspect.cleandoc(thing.__doc__ or "")
    return f"Of the type `{type(thing).__name__}`."


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
    django.setup()
    PAGE.write_text(page())
