"""Hook of mkdocs: a line `::: public queueops.control` becomes one entry for each public name of that package.

mkdocstrings reads code without running it. So it gets each name with the module that the package imports it from.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from importlib import import_module
from inspect import get_annotations
from pathlib import Path
from typing import Any

PACKAGES = (
    "queueops",
    "queueops.control",
    "queueops.events",
    "queueops.inspect",
    "queueops.jobs",
    "queueops.schedules",
    "queueops.testing",
)
LINE = re.compile(r"^::: public (?P<package>[\w.]+)$", re.MULTILINE)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Called by mkdocs with each page."""
    return LINE.sub(lambda line: "\n".join(entries(line["package"])), markdown)


def entries(package: str) -> Iterator[str]:
    """The docstring of a package, and an entry for each of its public names."""
    yield f"::: {package}\n    options: {{members: []}}\n"
    known = {home: owner for owner in PACKAGES[: PACKAGES.index(package)] for home in homes(owner).values()}
    for name, home in sorted(homes(package).items()):
        yield f'<a id="{package}.{name}"></a>\n'
        if home in known:
            yield f"## {name}\n\nSee [`{known[home]}.{home.rpartition('.')[2]}`][{home}].\n"
        elif not callable(value := getattr(import_module(package), name)):
            yield f"## {name}\n\nA value of the type `{type(value).__name__}`, in `{home.rpartition('.')[0]}`.\n"
        else:
            options = f'show_root_heading: true, show_root_toc_entry: true, heading: "{name}"'
            yield f"::: {home}\n    options: {{{options}}}\n"
            yield from fields(value)


def fields(value: Any) -> Iterator[str]:
    """A block with the fields of a Struct, a named tuple or a data class: they have no docstrings of their own."""
    names = getattr(value, "__struct_fields__", None) or getattr(value, "_fields", None) or ()
    names = names or getattr(value, "__dataclass_fields__", ())
    of_bases = [get_annotations(each) for each in reversed(value.__mro__)] if names else []
    types = {name: annotation for found in of_bases for name, annotation in found.items()}
    if names:
        yield "\n".join(("```python", *(f"{name}: {types[name]}" for name in names if name[0] != "_"), "```\n"))


def homes(package: str) -> dict[str, str]:
    """Each public name of a package, with the full name of what it means."""
    module: Any = import_module(package)
    tree = ast.parse(Path(module.__file__).read_text())
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    found = {alias.asname or alias.name: f"{node.module}.{alias.name}" for node in imports for alias in node.names}
    return {name: found.get(name, f"{package}.{name}") for name in module.__all__}
