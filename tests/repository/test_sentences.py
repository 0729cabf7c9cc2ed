"""Sentences of the engine: catalogs of translations can find each pattern, and each pattern fits its values."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.support.for_each import for_each

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "queueops").rglob("*.py"))
OWN = ROOT / "queueops/model/sentences.py"
PLACEHOLDER = re.compile(r"%\((\w+)\)s")
PATTERNS = {"say": 1, "say_n": 2}


def calls(path: Path) -> Iterator[tuple[str, ast.Call]]:
    """The calls of say and say_n in a module, and the name of each."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in PATTERNS:
            yield node.func.id, node


def faults(name: str, call: ast.Call) -> Iterator[str]:
    """What is wrong in a call of say or say_n."""
    patterns = [each.value if isinstance(each, ast.Constant) else None for each in call.args[: PATTERNS[name]]]
    values = {each.arg for each in call.keywords} | ({"n"} if name == "say_n" else set())
    for pattern in patterns:
        if not isinstance(pattern, str):
            yield "the pattern is not a literal"
            continue
        if "%" in PLACEHOLDER.sub("", pattern).replace("%%", ""):
            yield f"{pattern!r} has another placeholder than %(name)s"
        wanted = set(PLACEHOLDER.findall(pattern))
        if None not in values and not wanted <= values:  # None: ** of a mapping
            yield f"{pattern!r} has no value for {wanted - values}"
    told = set().union(*(PLACEHOLDER.findall(pattern) for pattern in patterns if pattern))
    if values - told - {None, "n"}:
        yield f"{patterns[-1]!r} does not show {values - told - {None, 'n'}}"


def test_each_pattern_is_a_literal_that_fits_its_values() -> None:
    found = {
        f"{path.relative_to(ROOT)}:{call.lineno}: {fault}"
        for path in FILES
        if path != OWN
        for name, call in calls(path)
        for fault in faults(name, call)
    }
    assert found == set()


@for_each(
    ("line", "fault"),
    [
        ("say(text)", "the pattern is not a literal"),
        ("say(f'{a}')", "the pattern is not a literal"),
        ("say('%(a)s %(b)s', a=1)", "'%(a)s %(b)s' has no value for {'b'}"),
        ("say('%(a)s', a=1, b=2)", "'%(a)s' does not show {'b'}"),
        ("say('100 % of %(a)s', a=1)", "'100 % of %(a)s' has another placeholder than %(name)s"),
        ("say_n('one', many, 2)", "the pattern is not a literal"),
        ("say('100 %% of %(a)s', a=1)", None),
        ("say_n('An address', '%(n)s addresses of %(a)s', 2, a=1)", None),
        ("say('%(a)s', **values)", None),
    ],
)
def test_a_wrong_pattern_is_found(line: str, fault: str | None) -> None:
    call = ast.parse(line).body[0]
    assert isinstance(call, ast.Expr)
    assert isinstance(call.value, ast.Call)
    assert isinstance(call.value.func, ast.Name)
    assert list(faults(call.value.func.id, call.value)) == ([fault] if fault else [])


def test_alarms_and_findings_are_made_where_the_types_demand_a_sentence() -> None:
    """`warning`, `danger`, `good`, `bad` and `caused` take a Sentence, and mypy checks their callers."""
    modules = {"Alarm": "queueops.inspect.alarm", "Finding": "queueops.inspect.why.findings"}
    elsewhere = {
        f"{path.relative_to(ROOT)}: {name}"
        for path in FILES
        for name, module in modules.items()
        if re.search(rf"from ({module}|queueops.inspect) import [^\n]*{name}", text := path.read_text())
        and re.search(rf"(?<![\w.]){name}\(", text)
    }
    assert elsewhere == {"queueops/alerts/alarm.py: Alarm"}  # the store is away: its text is sent, and not shown
