"""The Lua library: modules and functions, generated tables, loading; and the rules that every file keeps."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from redis.exceptions import ResponseError

from queueops.model import kinds, states
from queueops.redis import library
from queueops.redis.library import ALLOW_OOM, BASE, DENY_OOM, Function, Module, in_order, script, state_tables
from queueops.redis.library import library as current
from tests.kernel.desk import FOREVER, Desk
from tests.kernel.library_calls import FILES as FILES
from tests.kernel.library_calls import commands
from tests.support.for_each import for_each

PATHS = {path.stem: path for path in FILES if path.parent.name == "lua"}
MODULE_PATHS = {path.stem: path for path in FILES if path.parent.name == "lib"}
FUNCTIONS, MODULES = sorted(PATHS), sorted(MODULE_PATHS)
KEEPING = {"keep_history", "keep_marks", "keep_stack", "write_chunks"}
"""Functions that add to a store without a push. What is only shown is not worth the memory that is left."""
COMMENT = re.compile(r"--(?!@).*")
STRING = re.compile(r"'(?:[^'\\\n]|\\.)*'")


@cache
def code(path: Path) -> str:
    """A file without its comments and the contents of its strings."""
    return COMMENT.sub("", STRING.sub("''", path.read_text()))


def needs(path: Path) -> set[str]:
    """The modules that a file names."""
    return {name for line in re.findall(r"^--@needs (.+)$", path.read_text(), re.MULTILINE) for name in line.split()}


def shared(path: Path) -> Counter[str]:
    """What a module defines for others: functions and constants of `lib`, initial values of `ctx`."""
    text = code(path)
    names = re.findall(r"^function lib\.(\w+)\(", text, re.MULTILINE) + re.findall(r"^lib\.(\w+) =", text, re.MULTILINE)
    for line in re.findall(r"^(fresh\.\w+(?:, fresh\.\w+)*) =", text, re.MULTILINE):
        names += re.findall(r"fresh\.(\w+)", line)
    return Counter(names)


def used(path: Path) -> set[str]:
    """What a file uses of `lib` and `ctx`."""
    return set(re.findall(r"(?<![\w.])(?:lib|ctx)\.(\w+)", code(path)))


@cache
def called_of_tables(path: Path) -> set[tuple[str, str]]:
    """Table and function of each call of a function in a table of `lib`."""
    return set(re.findall(r"(?<!function )\blib\.(\w+)\.(\w+)\(", code(path)))


@cache
def filled_of_tables(path: Path) -> set[tuple[str, str]]:
    """Table and function of each function that a file puts into a table of `lib`."""
    return set(re.findall(r"^(?:function )?lib\.(\w+)\.(\w+)(?:\(| = )", code(path), re.MULTILINE))


OWNER = {name: path.stem for path in MODULE_PATHS.values() for name in shared(path)}
TABLES = {
    name for path in MODULE_PATHS.values() for name in re.findall(r"^lib\.(\w+) = {}$", code(path), re.MULTILINE)
} - {"hooks"}
"""Tables of functions that modules fill together; `queueops.redis.library` knows who fills hooks."""
FAMILY = {path.stem for path in MODULE_PATHS.values() if "function lib.family." in path.read_text()}


@for_each("name", FUNCTIONS)
def test_a_function_loads_as_a_script_with_and_without_its_first_line(desk: Desk, name: str) -> None:
    for text in (script(name), script(name, shebang=False)):
        assert len(desk.client.script_load(text)) == 40
    assert script(name).startswith("#!lua")
    assert not script(name, shebang=False).startswith("#!")
    bare, flags = script(name, shebang=False), library.functions()[name].flags
    assert bare.startswith(ALLOW_OOM) is ("allow-oom" in flags)
    assert bare.startswith(DENY_OOM) is {"allow-oom", "no-writes"}.isdisjoint(flags)


def test_the_library_holds_every_function_with_its_flags_under_its_digest(desk: Desk) -> None:
    desk.client.function_load(current().text, replace=True)
    (loaded,) = desk.client.function_list(current().name)
    fields = dict(zip(loaded[::2], loaded[1::2], strict=True))
    rows = [dict(zip(row[::2], row[1::2], strict=True)) for row in fields[b"functions"]]
    found = {row[b"name"].decode(): {flag.decode() for flag in row[b"flags"]} for row in rows}
    assert found == {current().function(name): set(each.flags) for name, each in library.functions().items()}


@for_each("path", FILES)
def test_what_is_sent_is_what_stands_in_the_file(path: Path) -> None:
    text = path.read_text()
    assert text.removeprefix(text.partition("\n")[0] + "\n" if text.startswith("#!") else "") in current().text


@for_each("name", FUNCTIONS)
def test_a_function_says_what_it_takes_answers_and_does(name: str) -> None:
    head = PATHS[name].read_text().partition("--@needs")[0]
    assert re.search(rf"^-- {name}: ", head, re.MULTILINE)
    for word in ("KEYS: 1 the pool's prefix", "ARGV: ", "Reply: ", "Transitions: "):
        assert f"-- {word}" in head


def test_a_function_may_run_in_a_full_store_unless_it_adds(desk: Desk) -> None:
    """One that sends no command that writes is only read from. One with the transition `push` adds a task."""
    writing = {name.upper() for name, about in desk.client.command().items() if "write" in about["flags"]}
    expected = {}
    for name, path in PATHS.items():
        transitions = re.search(r"^-- Transitions: (.+)$", path.read_text(), re.MULTILINE)
        adds = name in KEEPING or (transitions is not None and "push" in re.findall(r"\w+", transitions[1]))
        flags = () if adds else ("allow-oom",) if commands(path, writing) else ("no-writes",)
        expected[name] = flags
    expected |= {f"look_{name}": ("no-writes",) for name in library.LOOKS}
    assert {name: each.flags for name, each in library.functions().items()} == expected


def test_a_call_asks_for_the_time_once_and_answers_with_values() -> None:
    assert current().text.count("'TIME'") == 1
    assert "error_reply" not in current().text
    decoding = [path.stem for path in FILES if "cjson.decode" in path.read_text()]
    assert sorted(decoding) == [
        *(
            "dead_follow_ups",
            "files",
            "filter_conditions",
            "follow_ups",
            "look_up",
            "own_work",
            "run_calls",
            "run_check",
            "run_incoming",
            "run_steps",
        )
    ], "it changes numbers; they use texts alone of what they read"


@for_each("path", FILES)
def test_a_file_is_short(path: Path) -> None:
    lines = re.sub(r"^(--@needs .*\n)+\n?", "", path.read_text(), count=1, flags=re.MULTILINE).splitlines()
    assert len(lines) <= 150
    assert max(map(len, lines)) <= 140


def test_no_two_modules_share_something_of_the_same_name() -> None:
    said = sum((shared(path) for path in MODULE_PATHS.values()), Counter())
    assert [name for name, times in said.items() if times > 1] == []


@for_each("path", FILES)
def test_a_file_names_the_modules_that_it_uses_and_no_others(path: Path) -> None:
    assert used(path) - set(OWNER) == set()
    owners = {OWNER[name] for name in used(path)} - {path.stem if path.parent.name == "lib" else ""}
    if path.stem == "composites":
        owners = FAMILY
    assert needs(path) - {"composites"} == owners - {BASE}


@for_each("name", FUNCTIONS)
def test_a_function_of_the_family_is_there_where_it_is_called(name: str) -> None:
    paths = [*(MODULE_PATHS[module] for module in library.modules_of(name)), PATHS[name]]
    called, defined = ({each for path in paths for each in of(path)} for of in (called_of_tables, filled_of_tables))
    assert {(table, each) for table, each in called if table in TABLES} <= defined


@pytest.mark.parametrize(
    "arguments", [["1"] * 9, ["x", "2", "", "0", "1 2 3 4 5 6 7", "0", "0", "0", "0"]], ids=["1", "x"]
)
@for_each("name", FUNCTIONS)
def test_a_function_does_the_same_as_a_script(desk: Desk, name: str, arguments: list[str]) -> None:
    def reply(seconds: float) -> object:
        desk.client.flushdb()
        desk.broker.scripts.without_functions(seconds)
        try:
            return desk.broker.scripts.send(name, desk.keys.prefix, *arguments)
        except ResponseError as error:  # arguments that are not those of this function; the place in the text differs
            return re.sub(r"user_(?:function|script):\d+|script: .*", "", str(error))

    found, expected = reply(FOREVER), reply(0)
    assert re.sub(r"\d{13}", "time", repr(found)) == re.sub(r"\d{13}", "time", repr(expected))
    desk.client.flushdb()


@pytest.mark.parametrize("seconds", [FOREVER, 0], ids=["script", "function"])
@pytest.mark.parametrize(
    ("name", "arguments", "line"),
    [
        ("dead_worker", ["w", "locked", "0", "0", "1 2 3 4 5 6 7"], "call('ZCARD', P .. ':agenda')"),
        ("dead_worker", ["w", "locked", "0"], "for _ = 1, tonumber(ARGV[4]) do"),
    ],
    ids=["module", "function"],
)
def test_an_error_of_the_server_names_the_file_and_the_line(
    desk: Desk, seconds: float, name: str, arguments: list[str], line: str
) -> None:
    if "agenda" in line:
        desk.client.set(desk.keys.agenda, "text")
    desk.broker.scripts.without_functions(seconds)
    with pytest.raises(ResponseError) as raised:
        desk.broker.scripts.send(name, desk.keys.prefix, *arguments)
    (note,) = raised.value.__notes__
    line_of = desk.broker.scripts.note_place
    for wrong in ("Base of the library.", "  redis.register_function("):
        number = next(i for i, each in enumerate(current().text.splitlines(), 1) if wrong in each)
        error = ResponseError(f"script: on @user_function:{number}.")
        line_of(name, error)
        expected = "lib/base.lua, line 1" if "Base" in wrong else f"line {number} of what joins its files"
        assert error.__notes__ == [f"In the Lua library: {expected}"]
    file, _, number = note.removeprefix("In the Lua library: ").partition(", line ")
    (path,) = [path for path in FILES if str(path).endswith(f"lua/{file}")]
    assert line in path.read_text().splitlines()[int(number) - 1]
    desk.client.flushdb()


def test_every_module_is_needed_or_fills_a_hook() -> None:
    filling = {name for name, module in library.modules().items() if module.fills}
    assert set().union(*map(needs, FILES)) | filling == set(MODULES) - {BASE}


@for_each("path", MODULE_PATHS.values())
def test_what_a_module_holds_does_not_change_after_it_is_loaded(path: Path) -> None:
    """What belongs to one call stands in `ctx`, so that nothing is left of a call that failed in the middle.

    The last number that `lib.text` converted stands beside it: `enter` resets both.
    """
    text = code(path)
    held = [
        name
        for names in re.findall(r"^local (?!function\b)([\w, ]+?)(?: =|$)", text, re.MULTILINE)
        for name in names.replace(" ", "").split(",")
    ]
    inside = "\n".join(line for line in text.splitlines() if re.match(r"\s|(?:local )?function .*\bend$", line))
    if path.stem == BASE:
        inside = inside.partition("  call, floor")[0]  # `enter`, which begins a call
    for name in {*held, *(f"lib.{name}" for name in shared(path)), "lib", "fresh"} - {"ctx", "latest", "latest_text"}:
        changed = rf"(?<![\w.]){re.escape(name)}(?:\.\w+|\[(?:[^\[\]]|\[[^\]]*\])*\])*(?:, [\w.]+)* = "
        found = [line for line in inside.splitlines() if re.search(changed, line) and f"local {name}" not in line]
        assert found == [], f"{path.stem} changes {name}"


READERS = "fields_of|values_of|named_fields|read_record|shown_task|row_of|HMGET"
BY_PLACE = r"\[(?:\d+|[A-Z][A-Z_]*|\w+ [+-] \d+)\]"
"""A number, a constant, or a number beside another one, between square brackets."""


def read_by_place(text: str) -> set[str]:
    """What a text reads by its place: values of a record, a list in a list, and a part of each entry of a list."""
    read = re.compile(rf"^\s*(?:local )?([\w, ]+?) =[^\n]*\b(?:{READERS})\b", re.MULTILINE)
    names = {name for found in read.findall(text) for name in found.split(", ")}
    names |= set(re.findall(r"\bfor \w+, (\w+) in i?pairs\(", text))
    names |= {name for found in re.findall(r"\bsort\([\w.]+, function\((.+?)\)", text) for name in found.split(", ")}
    found = {match for name in names for match in re.findall(rf"(?<![\w.]){name}{BY_PLACE}", text)}
    found |= set(re.findall(rf"\b(?:{READERS})\((?:[^()\n]|\([^()\n]*\))*\){BY_PLACE}", text))
    return found | set(re.findall(r"\w+\[(?:[^\[\]]|\[[^\]]*\])+\]\[\d+\]|\{ *\[\d+\] =", text))


@for_each("path", FILES)
def test_records_and_lists_are_read_by_name(path: Path) -> None:
    """A number says nothing: `values_of` gives each value its name where it is read, a table has names, or `unpack`."""
    assert read_by_place(code(path)) == set()


SHORT = set(kinds.fields())
RECORDS = "record|row|child|parent|chunk|leaf|own|twin"
"""What Lua files call a record that they have read."""


@for_each("path", FILES)
def test_a_field_of_a_record_is_read_by_its_long_name(path: Path) -> None:
    """`record[F.parent_id]`, not `record.pi`: the name in the store says nothing to a reader."""
    found = re.findall(rf"(?<![.\w])(?:{RECORDS})\.([a-z]{{1,2}})\b", code(path))
    assert [name for name in found if name in SHORT] == []


def test_a_field_that_no_kind_has_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    functions = dict(library.functions())
    note = functions["note"]
    monkeypatch.setattr(
        library, "functions", lambda: functions | {"note": note._replace(text=f"{note.text}-- F.statte\n")}
    )
    with pytest.raises(LookupError, match="names the record field statte, which no kind has"):
        script.__wrapped__("note")


@for_each("path", FILES)
def test_the_library_has_one_name(path: Path) -> None:
    """These tests look for `lib.`: another name of the library, or of what reads records, would hide what is used."""
    text = code(path).replace("local lib = {}", "") if path.stem == BASE else code(path)
    assert re.findall(rf"(?<![\w.])lib\b(?!\.\w)[^\n]*|\blib\.(?:{READERS})\b(?!\()[^\n]*", text) == []


@for_each(
    "line",
    [
        "local row = lib.row_of(id, '')\nreturn row[5][1]",
        "local row = lib.fields_of(key, unpack(FIELDS)) or { [9] = '' }",
        "local fields = lib.fields_of(key, unpack(FIELDS))\nreturn fields[STATE]",
        "local found = lib.fields_of(key, 'pools', unpack(NUMBERS))\nreturn found[i + 2]",
        "for _, row in ipairs(rows) do seen[row[1]] = true end",
        "table.sort(list, function(a, b) return a[2] > b[2] end)",
        "return lib.fields_of(key, 's')[1]",
    ],
)
def test_what_is_read_by_its_place_is_found(line: str) -> None:
    assert read_by_place(line)


def test_the_tables_of_states_are_generated_from_the_single_source() -> None:
    for state, kind in states.table().classes.items():
        assert f"{state} = '{kind}'" in state_tables()
    assert "local TIMED = { postponed = true, restart = true }" in state_tables()


def test_modules_stand_behind_what_they_need() -> None:
    known = {"a": Module("", ("b", "c")), "b": Module("", ("c",)), "c": Module("", ()), "d": Module("", ())}
    assert in_order(("d", "a"), known) == ["d", "c", "b", "a"]


def test_a_circle_of_modules_is_refused() -> None:
    known = {"a": Module("", ("b",)), "b": Module("", ("c",)), "c": Module("", ("b",))}
    with pytest.raises(LookupError, match="need each other in a circle: b -> c -> b"):
        in_order(("a",), known)


def test_a_missing_module_is_named_with_the_one_that_needs_it() -> None:
    with pytest.raises(LookupError, match="the module a needs the module nothing, which is missing"):
        in_order(("a",), {"a": Module("", ("nothing",))})


def test_a_call_after_one_that_failed_in_the_middle_begins_anew(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """`spoils` gives all values of `ctx`, and all variables of a call, an unexpected content; then it fails."""
    spoils = (
        "for name in pairs(fresh) do\n  local value = ctx[name]\n"
        "  if type(value) == 'table' then value.dirt = 'dirt' else ctx[name] = 'dirt' end\nend\n"
        "P, TASK, NOW, now, TIME = 'dirt', 'dirt', 'dirt', 0, {}\ncall = lib.tolerate\nerror('spoilt')\n"
    )
    every = dict(library.functions()) | {"spoils": Function((), spoils, ())}
    monkeypatch.setattr(library, "functions", lambda: every)
    desk.broker.scripts.library = current.__wrapped__()
    desk.push("a", "b", retries=1)
    for act in (desk.drain, lambda: desk.push("c"), lambda: desk.broker.draw("default", "w", 1), desk.drain):
        with pytest.raises(ResponseError, match="spoilt"):
            desk.broker.scripts.send("spoils", desk.broker.keys("default").prefix, *["1"] * 9)
        act()
    assert desk.states("a", "b", "c") == ["succeeded"] * 3
