"""Bundles of the console: one stylesheet and one script, built of the files in `static/`.

`python -m tests.repository.bundles` writes them. The stylesheet begins with the part of Tabler that the console uses:
rules whose classes, ids and elements occur in a template, a script or a module, and the variables that these rules
need. A browser asks for two files in place of seventeen, and for a tenth of Tabler.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
STATIC = ROOT / "static"
TABLER = STATIC / "vendor/tabler/tabler.min.css"
SHEETS = (
    "frame",
    "navigation",
    "states",
    "parts",
    "alarms",
    "tables",
    "diagram",
    "graph",
    "charts",
    "plots",
    "chunks",
    "trees",
    "search",
    "schedules",
    "views",
    "environment",
    "guides",
    "alerts",
    "widths",
    "directions",
)
STYLES = ("vendor/uplot/uPlot.min.css", *(f"console/{name}.css" for name in SHEETS))
OWN_SCRIPTS = (
    "steady",
    "held",
    "ops",
    "times",
    "ticks",
    "keys",
    "chunks",
    "search",
    "palette",
    "plotting",
)
SCRIPTS = (
    "vendor/htmx/htmx.min.js",
    "vendor/idiomorph/idiomorph-ext.min.js",
    *(f"console/{name}.js" for name in OWN_SCRIPTS),
)
PLOTS = ("vendor/uplot/uPlot.iife.min.js", "console/plots.js")
"""The script of pages with charts, which `plotting.js` loads."""
BUILT = {
    "css": STATIC / "console/built/console.css",
    "js": STATIC / "console/built/console.js",
    "plots": STATIC / "console/built/plots.js",
}
SOURCES = ("templates/**/*.html", "queueops_demo/templates/**/*.html", "console/**/*.py", "static/console/*.js")
CLASSES = re.compile(r"class(?:Name)?(?:=|\": |: )\"([^\"]*)\"")
ELEMENT = re.compile(r"<([a-z][a-z0-9]*)")
HYPHENED = re.compile(r"\"([a-z]+(?:-[a-z]+)+)\"")
ALWAYS = frozenset({"html", "body", "root"})

WORD = re.compile(r"[A-Za-z_][\w-]*")
NOTICE = "/* Built by python -m tests.repository.bundles; edit its sources. %s, see vendor/README.md. */"
STRING = re.compile(r"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'")
NAMED = re.compile(r"[.#]((?:\\.|[\w-])+)")
INSIDE = re.compile(r"\[[^\]]*\]|::?[\w-]+(?:\([^()]*\))?|\((?:[^()]*)\)")
VARIABLE = re.compile(r"var\((--[\w-]+)")
DECLARED = re.compile(r"(--[\w-]+)\s*:")


class Rule(NamedTuple):
    """A rule with its declarations, or an at-rule with its rules."""

    head: str
    body: str
    inner: tuple[Rule, ...] = ()


def build() -> dict[str, str]:
    """The text of each bundle."""
    own = "\n".join((STATIC / name).read_text() for name in STYLES)
    used = words()
    kept = [reduced for rule in parse(TABLER.read_text()) if (reduced := _reduced(rule, used))]
    needed = _variables([*map(_text, kept), own])
    tabler = "".join(_text(_without(rule, needed)) for rule in kept)
    return {
        "css": f"{NOTICE % 'Tabler, uPlot: MIT'}\n{tabler}\n{own}",
        "js": f"{NOTICE % 'htmx, idiomorph: 0BSD'}\n{_joined(SCRIPTS)}",
        "plots": f"{NOTICE % 'uPlot: MIT'}\n{_joined(PLOTS)}",
    }


def _joined(scripts: tuple[str, ...]) -> str:
    return "".join((STATIC / name).read_text().rstrip().rstrip(";") + ";\n" for name in scripts)


def words() -> frozenset[str]:
    """The classes and elements of templates, scripts and modules; also words with hyphens, which may be classes."""
    texts = [path.read_text() for pattern in SOURCES for path in ROOT.glob(pattern)]
    classes = (word for text in texts for found in CLASSES.findall(text) for word in WORD.findall(found))
    others = (word for text in texts for pattern in (ELEMENT, HYPHENED) for word in pattern.findall(text))
    return ALWAYS | frozenset(classes) | frozenset(others)


def parse(text: str) -> tuple[Rule, ...]:
    """The rules of a minified stylesheet."""
    return tuple(_rules(re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)))


def _rules(text: str) -> Iterator[Rule]:
    at = 0
    while at < len(text):
        brace, semicolon = text.find("{", at), text.find(";", at)
        if brace < 0:
            return
        if 0 <= semicolon < brace:  # such as @charset
            at = semicolon + 1
            continue
        end = _end(text, brace)
        head, body = text[at:brace].strip(), text[brace + 1 : end]
        nested = head.startswith(("@media", "@supports", "@layer", "@container"))
        yield Rule(head, "" if nested else body, tuple(_rules(body)) if nested else ())
        at = end + 1


def _end(text: str, brace: int) -> int:
    """The place of the brace that closes the one at `brace`; braces in strings do not count."""
    depth = 0
    for found in re.compile(rf"{STRING.pattern}|[{{}}]", re.DOTALL).finditer(text, brace):
        depth += {"{": 1, "}": -1}.get(found[0], 0)
        if depth == 0:
            return found.start()
    raise ValueError("a brace is not closed")


def _reduced(rule: Rule, used: frozenset[str]) -> Rule | None:
    """The rule without selectors that match nothing; None if none is left."""
    if rule.inner:
        inner = tuple(kept for kept in (_reduced(each, used) for each in rule.inner) if kept)
        return rule._replace(inner=inner) if inner else None
    if rule.head.startswith("@"):
        return None if rule.head.startswith(("@keyframes", "@font-face", "@page")) else rule
    kept = [selector for selector in _selectors(rule.head) if _matches(selector, used)]
    return rule._replace(head=",".join(kept)) if kept else None


def _selectors(head: str) -> list[str]:
    """The selectors of a list; a comma in brackets does not part them."""
    parts, depth, begun = [], 0, 0
    for place, character in enumerate(head):
        depth += (character in "([") - (character in ")]")
        if character == "," and depth == 0:
            parts.append(head[begun:place])
            begun = place + 1
    return [*parts, head[begun:]]


def _matches(selector: str, used: frozenset[str]) -> bool:
    """Whether all classes, ids and elements of a selector occur somewhere."""
    plain = selector
    while (shorter := INSIDE.sub(" ", plain)) != plain:
        plain = shorter
    names = NAMED.findall(plain)
    elements = WORD.findall(NAMED.sub(" ", plain))
    return all(name in used for name in (*names, *elements))


def _variables(texts: list[str]) -> frozenset[str]:
    """The variables that are used, also by the values of such variables."""
    values: dict[str, list[str]] = {}
    for text in texts:
        for name, value in re.findall(r"(--[\w-]+)\s*:([^;}]*)", text):
            values.setdefault(name, []).append(value)
    needed = {name for text in texts for name in VARIABLE.findall(re.sub(r"--[\w-]+\s*:[^;}]*", "", text))}
    waiting = list(needed)
    while waiting:
        for name in {found for value in values.get(waiting.pop(), []) for found in VARIABLE.findall(value)} - needed:
            needed.add(name)
            waiting.append(name)
    return frozenset(needed)


def _without(rule: Rule, needed: frozenset[str]) -> Rule:
    """The rule without variables that nothing needs."""
    inner = tuple(_without(each, needed) for each in rule.inner)
    declared = [part for part in _declarations(rule.body) if not _is_spare(part, needed)]
    return rule._replace(body=";".join(declared), inner=inner)


def _declarations(body: str) -> list[str]:
    """The declarations of a rule; a semicolon in a string or a URL does not part them."""
    return re.findall(r"(?:\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|\([^()]*(?:\([^()]*\)[^()]*)*\)|[^;])+", body)


def _is_spare(declaration: str, needed: frozenset[str]) -> bool:
    name = declaration.partition(":")[0].strip()
    return name.startswith("--") and name not in needed


def _text(rule: Rule) -> str:
    inner = "".join(map(_text, rule.inner))
    return f"{rule.head}{{{rule.body}{inner}}}\n" if rule.body or inner else ""


def write() -> None:
    """Write the bundles."""
    for kind, text in build().items():
        BUILT[kind].parent.mkdir(exist_ok=True)
        BUILT[kind].write_text(text)


if __name__ == "__main__":
    write()
