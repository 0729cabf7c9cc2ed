"""The scripts' loader: includes, generated tables, what is left out; and the rules that every script keeps."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

import queueops.redis
from queueops.model import states
from queueops.redis.scripts import ALLOW_OOM, drop_unused, source, state_tables, unbundled
from tests.kernel.desk import Desk

LUA = Path(queueops.redis.__file__).parent / "lua"
FILES = sorted(path.stem for path in LUA.glob("*.lua"))
INCLUDES = sorted(path.stem for path in LUA.glob("include/*.lua"))
ADDING = {"enqueue", "displace", "emit", "fire", "plant", "write_chunks"}
READING = {
    "chunk_page",
    "chunk_results",
    "chunk_strip",
    "chunk_summary",
    "commands",
    "detail",
    "errors",
    "facets",
    "held",
    "lease_time_left",
    "page",
    "rows",
    "schedules",
    "tree",
    "workers",
}


def written(name: str) -> str:
    """A script as it is written, with each include by its name."""
    return unbundled((LUA / f"{name}.lua").read_text())


@pytest.mark.parametrize("name", FILES)
def test_a_script_loads_with_and_without_its_first_line(desk: Desk, name: str) -> None:
    for text in (source(name), source(name, shebang=False)):
        assert len(desk.client.script_load(text)) == 40
        assert "--@include" not in text
        assert "\n--" not in text
    assert source(name).startswith("#!lua")
    assert not source(name, shebang=False).startswith("#!")
    assert source(name, shebang=False).startswith(ALLOW_OOM) is ("allow-oom" in source(name).partition("\n")[0])


@pytest.mark.parametrize("name", FILES)
def test_a_script_says_what_it_takes_answers_and_does(name: str) -> None:
    head = (LUA / f"{name}.lua").read_text().partition("--@include")[0]
    assert re.search(rf"^-- {name}: ", head, re.MULTILINE)
    for word in ("KEYS: 1 the pool's prefix", "ARGV: ", "Reply: ", "Transitions: "):
        assert f"-- {word}" in head


@pytest.mark.parametrize("name", FILES)
def test_a_script_may_run_in_a_full_store_unless_it_adds(name: str) -> None:
    first = (LUA / f"{name}.lua").read_text().partition("\n")[0]
    flags = "" if name in ADDING else " flags=no-writes" if name in READING else " flags=allow-oom"
    assert first == f"#!lua{flags}"


@pytest.mark.parametrize("name", FILES)
def test_a_script_asks_for_the_time_once_and_answers_with_values(name: str) -> None:
    text = source(name)
    assert text.count("'TIME'") == 1
    assert "error_reply" not in text
    assert "cjson.decode" not in text


@pytest.mark.parametrize("path", [*LUA.glob("*.lua"), *LUA.glob("include/*.lua")], ids=lambda path: path.stem)
def test_a_script_is_short(path: Path) -> None:
    lines = path.read_text().splitlines()
    assert len(lines) <= 150
    assert max(map(len, lines)) <= 140


def test_every_include_is_included() -> None:
    named = {name for file in LUA.rglob("*.lua") for name in re.findall(r"--@include (\w+)", file.read_text())}
    assert named == set(INCLUDES)


@pytest.mark.parametrize("name", INCLUDES)
def test_an_include_that_names_others_has_nothing_of_its_own(name: str) -> None:
    lines = (LUA / "include" / f"{name}.lua").read_text().splitlines()
    named = [line for line in lines if line.startswith("--@include ")]
    assert not named or all(line.startswith("--") for line in lines)


def test_the_tables_of_states_are_generated_from_the_single_source() -> None:
    text = state_tables("CLASS LEASED TIMED TERMINAL REPLACEABLE")
    for state, kind in states.CLASSES.items():
        assert f"{state} = '{kind}'" in text
    assert "local TIMED = { postponed = true, restart = true }" in text
    assert state_tables("nothing of it") == ""


def test_functions_that_nothing_calls_are_left_out() -> None:
    body = (
        "local function used() return 1 end\n"
        "local function unused()\n  return used()\nend\n"
        "local function only_by_unused()\n  if x then\n    return unused()\n  end\nend\n"
        "local function itself() return itself() end\n"
        "return used()\n"
    )
    assert drop_unused(body) == "local function used() return 1 end\nreturn used()\n"


def test_a_function_with_the_name_of_its_include_or_of_a_text_is_left_out() -> None:
    body = "--@part tell\nlocal function tell() return 'gone' end\nlocal function gone() return 'tell' end\n--@end\n"
    assert drop_unused(body) == "--@part tell\n--@end\n"


@pytest.mark.parametrize("name", FILES)
def test_a_script_has_the_functions_that_it_calls_and_no_others(name: str) -> None:
    text = source(name)
    bodies = dict(re.findall(r"if name == '(\w+)' then\n(.*?)(?=^else|^end\n)", text, re.MULTILINE | re.DOTALL))
    said = Counter(re.findall(r"(?<![\w.])F\.(\w+)", text))
    assert {field for field in said if f"F.{field}(" in text} == set(bodies)
    for field, body in bodies.items():
        assert said[field] > len(re.findall(rf"\bF\.{field}\b", body)), f"{name} carries {field} for nothing"


@pytest.mark.parametrize("name", [name for name in FILES if "--@include lanes\n" in written(name)])
def test_whatever_knows_lanes_knows_their_rates(name: str) -> None:
    assert "--@include rate_limit\n--@include lanes\n" in written(name)
