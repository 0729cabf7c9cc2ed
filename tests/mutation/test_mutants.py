"""The changes that a sample is drawn from, and the tests that are named for one."""

from __future__ import annotations

import ast

from tests.mutation import lua_source, python_source
from tests.mutation.covering import _functions, _naming
from tests.mutation.mutants import AREAS, ROOT, Mutant, sample
from tests.support.for_each import for_each


def changed(text: str, changes: object) -> set[str]:
    return {text[:start] + new + text[end:] for start, end, new in changes}  # type: ignore[attr-defined]


@for_each(
    ("text", "new"),
    [
        ("a < b", {"a <= b"}),
        ("a not in b", {"a in b"}),
        ("a is  not b", {"a is b"}),
        ("not a", {"a"}),
        ("a and b", {"a or b"}),
        ("x = 5", {"x = 6"}),
        ("x = True", {"x = False"}),
        ("x = a - b", {"x = a + b"}),
        ("x = 'ä' + b", set()),
        ("f(a, b)", {"f(b, a)", "pass"}),
        ("f(a, a)", {"pass"}),
        ("if a:\n    f()", {"if (not (a)):\n    f()", "if a:\n    pass"}),
        ("f()\ng(1)", {"pass\ng(1)", "f()\npass", "g(1)\nf()", "f()\ng(2)"}),
        ("logger.info(a, b)", {"logger.info(b, a)"}),
        ("if TYPE_CHECKING:\n    f()", set()),
        ("def f(a: Literal[1]) -> Literal[2]: ...", set()),
        ('x = "ä", 1', {'x = "ä", 2'}),
    ],
)
def test_python_is_changed_in_one_place(text: str, new: set[str]) -> None:
    assert changed(text, python_source.changes(text)) == new


@for_each(
    ("text", "new"),
    [
        ("if a == b then", {"if a ~= b then"}),
        ("if not a and b then", {"if  a and b then", "if not a or b then"}),
        ("x = 10 -- 5 < 6", {"x = 11 -- 5 < 6"}),
        ("x = '5 < 6'", set()),
        ("x = a - b", {"x = a + b"}),
        ("x = -a", set()),
        ("f.g('x')\n", {"\n"}),
        ("call('A')\n  call('B')", {"\n  call('B')", "call('A')\n  ", "call('B')\n  call('A')"}),
        ("x = call('A')", set()),
    ],
)
def test_lua_is_changed_in_one_place(text: str, new: set[str]) -> None:
    assert changed(text, lua_source.changes(text)) == new


def test_a_seed_gives_the_same_changes_again_and_each_area_its_share() -> None:
    found = sample(8, 7)
    assert found == sample(8, 7)
    assert found != sample(8, 8)
    for name, mutant in zip([*AREAS, *AREAS], found, strict=True):
        assert any(ROOT / mutant.path in ROOT.glob(pattern) for pattern in AREAS[name])
        assert mutant.text == (ROOT / mutant.path).read_text()


def test_the_functions_around_a_line_are_named_as_python_names_them() -> None:
    text = "class A:\n    def f(self):\n        if x:\n            def g():\n                return 1\n"
    assert _functions(ast.parse(text), 5) == ["A.f", "A.f.<locals>.g"]
    assert _functions(ast.parse(text), 1) == []


def test_tests_that_name_a_module_or_what_it_offers_are_found_without_a_map() -> None:
    def naming(path: str) -> list[str]:
        text = (ROOT / path).read_text()
        return _naming(Mutant(path=path, start=0, end=0, new="", text=text))

    assert naming("console/project/slow_clients.py")[0] == "tests/faults/test_slow_clients.py"  # a process runs it
    assert naming("queueops/redis/lua/lib/own_work.lua")[0] == "tests/inspecting/test_own_work_alarms.py"
    assert "tests/inspecting/test_paused_names.py" in naming("queueops/control/names.py")  # it calls `pause_name`
