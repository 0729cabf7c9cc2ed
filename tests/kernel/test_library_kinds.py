"""What kinds bring to the Lua library: files, hooks and sub-keys; and what is refused before anything is sent."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from queueops.model import kinds
from queueops.model.kind import Kind
from queueops.model.kinds import KINDS
from queueops.redis import library
from tests.kernel.desk import FOREVER, Desk
from tests.support.for_each import for_each
from tests.support.kinds import kind


@pytest.fixture
def with_kind(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Callable[[dict[str, str]], None]]:
    """Registers one more kind, whose package has these files."""
    caches = (library.modules, library.functions, library.hooks, library.library, library.script)
    monkeypatch.syspath_prepend(tmp_path)

    def register(files: dict[str, str]) -> None:
        for name, text in {"__init__.py": "", **files}.items():
            path = tmp_path / "sample_kind" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        monkeypatch.setattr(kinds, "KINDS", (*KINDS, kind("sample", "sample_kind")))
        kinds.forget()
        for each in caches:
            each.cache_clear()

    yield register
    monkeypatch.undo()
    sys.modules.pop("sample_kind", None)
    kinds.forget()
    for each in caches:
        each.cache_clear()


@pytest.fixture
def forgotten() -> Iterator[None]:
    """What a test registers is forgotten after it."""
    kinds.forget()
    yield
    kinds.forget()


def test_a_kind_brings_functions_and_modules_from_its_package(
    desk: Desk, with_kind: Callable[[dict[str, str]], None]
) -> None:
    with_kind({"lua/twice.lua": "#!lua\n--@needs doubling\nreturn lib.doubled(ARGV[1])\n"})
    with_kind({"lua/lib/doubling.lua": "function lib.doubled(number) return number * 2 end\n"})
    for seconds in (FOREVER, 0):
        desk.broker.scripts.library = library.library()
        desk.broker.scripts.without_functions(seconds)
        assert desk.broker.scripts.send("twice", desk.keys.prefix, 21) == 42


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"lua/enqueue.lua": "#!lua\n"}, "kernel and sample both bring lua/enqueue.lua to the Lua library"),
        ({"lua/lib/lanes.lua": ""}, "kernel and sample both bring lua/lib/lanes.lua to the Lua library"),
        ({"lua/probe.lua": "return 1\n"}, "the function probe does not begin with '#!lua'"),
        (
            {"lua/probe.lua": "#!lua\n--@needs nothing\n"},
            "the function probe needs the module nothing",
        ),
        ({"lua/lib/probe.lua": "--@needs nothing\n"}, "the module probe needs the module nothing"),
        ({"lua/lib/probe.lua": "--@needs probe\n"}, "need each other in a circle: probe -> probe"),
        (
            {"lua/lib/probe.lua": "function lib.hooks.nothing.probe() end\n"},
            "the module probe fills the hook nothing.probe, which the kernel does not have",
        ),
        (
            {"lua/lib/probe.lua": "function lib.hooks.due_entry.lane() end\n"},
            "the modules agenda and probe both fill the hook due_entry.lane",
        ),
        (
            {"lua/lib/probe.lua": "function lib.hooks.due_entry() end\n"},
            "the module probe fills the hook due_entry, which the kernel does not have",
        ),
        (
            {"lua/lib/probe.lua": "function lib.hooks.parts.claim() end\n"},
            "the modules chunk_claim and probe both fill the hook parts.claim",
        ),
        (
            {"lua/lib/probe.lua": "function lib.hooks.claim.mapreduc.promote() end\n"},
            "the module probe fills the hook claim.mapreduc.promote: there is no kind mapreduc, nor such records",
        ),
        (
            {"lua/lib/probe.lua": "lib.hooks.claim['sample'].promote = print\n"},
            "lib/probe.lua, line 1, may fill a hook: \"lib.hooks.claim['sample'].promote = print\". Write",
        ),
        (
            {"lua/lib/probe.lua": "do\n  function lib.hooks.claim.sample.promote() end\nend\n"},
            "lib/probe.lua, line 2, may fill a hook: 'function lib.hooks.claim.sample.promote() end'. Write",
        ),
        (
            {"lua/probe.lua": "#!lua\nreturn lib.hooks.nothing.probe()\n"},
            "the function probe calls the hook nothing, which the kernel does not have",
        ),
        (
            {"lua/lib/probe.lua": "local function probe() return lib.hooks.nothing.probe() end\n"},
            "the module probe calls the hook nothing, which the kernel does not have",
        ),
    ],
    ids=[
        "function-twice",
        "module-twice",
        "no-flags",
        "function-needs-nothing",
        "module-needs-nothing",
        "circle",
        "unknown-hook",
        "hook-twice",
        "hook-without-key",
        "hook-with-key",
        "unknown-kind",
        "hook-in-brackets",
        "hook-in-a-block",
        "call-of-unknown-hook",
        "call-of-unknown-hook-in-a-module",
    ],
)
def test_a_kind_that_contradicts_the_library_is_refused_before_anything_is_sent(
    with_kind: Callable[[dict[str, str]], None], files: dict[str, str], message: str
) -> None:
    with_kind(files)
    with pytest.raises(LookupError, match=re.escape(message)):
        library.library()


@pytest.mark.parametrize("path", ["lua/lib/probe.lua", "lua/probe.lua"])
@for_each(
    "line",
    [
        "lib.hooks.claim.sample.promote, lib.hooks.retry.sample.reset = print, print",
        "local a; a, lib.hooks.claim.sample.promote = print, print",
        "lib.hooks.claim.sample.promote, ctx.a[1].b = print, print",
        "function lib.hooks.claim.sample.promote (id) end",
        "function  lib.hooks.claim.sample.promote(id) end",
        "lib.hooks.claim.sample.promote= print",
        "lib.hooks.claim.sample.promote  = print",
        "lib.hooks.claim[names[1]].promote = print",
        "lib.hooks.claim.sample. promote = print",
        "lib.hooks.claim.sample.promote\n= print",
        "lib . hooks.claim.sample.promote = print",
        "lib['hooks'].claim.sample.promote = print",
        "local hooks = lib.hooks",
        "local claim = lib.hooks.claim",
        "rawset(lib.hooks.claim, 'sample', print)",
        "rawset(lib.hooks, 'claim', {})",
        "for _, hook in pairs(lib.hooks) do hook.sample = print end",
    ],
)
def test_a_line_that_fills_a_hook_unseen_is_refused(
    with_kind: Callable[[dict[str, str]], None], path: str, line: str
) -> None:
    with_kind({path: f"#!lua\n-- lib.hooks\n{line}\n" if path == "lua/probe.lua" else f"\n\n{line}\n"})
    shown = line.partition("\n")[0]
    with pytest.raises(LookupError, match=re.escape(f"{path[4:]}, line 3, may fill a hook: {shown!r}. Write ")):
        library.library()


@for_each(
    "text",
    [
        "function lib.hooks.claim.sample.promote(id) return id == 1 end",
        "lib.hooks.claim.sample.promote = print",
        "local a, b = lib.hooks.claim[1], lib.hooks.retry[2]\nlocal c = a == b",
        "if lib.hooks.claim.sample.promote == print then a = 1 end",
        "for _, each in pairs(lib.hooks.check) do if each.tick then each.tick() end end",
        "-- lib.hooks = {}",
        "local a = (lib.hooks.claim[1] or NONE).promote\na = 2",
        "return lib.hooks.tree.refuse(record), lib.hooks.parts.check(id)",
    ],
)
def test_a_fill_in_the_known_form_and_a_read_are_not_refused(text: str) -> None:
    library._refuse_hidden("lib/probe.lua", text)


def test_a_hook_that_a_kind_fills_is_called_and_comes_with_the_script(
    desk: Desk, with_kind: Callable[[dict[str, str]], None]
) -> None:
    with_kind(
        {
            "lua/lib/sample.lua": "--@needs transitions\nfunction lib.hooks.due_entry.sample(rest)\n"
            "  call('RPUSH', P .. ':sample', rest)\nend\n"
        }
    )
    agenda = f"{desk.keys.prefix}:agenda"
    for seconds in (FOREVER, 0):
        desk.broker.scripts.library = library.library()
        desk.broker.scripts.without_functions(seconds)
        desk.client.zadd(agenda, {f"~sample:{seconds}": 1})
        desk.tick()
    assert desk.client.lrange(f"{desk.keys.prefix}:sample", 0, -1) == [str(FOREVER).encode(), b"0"]
    assert desk.client.zcard(agenda) == 0
    desk.client.delete(f"{desk.keys.prefix}:sample")


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (kind("mapreduce", "queueops.events"), "the kinds mapreduce and mapreduce both have mapreduce"),
        (kind("sample", "queueops.events", records=("task",)), "the kinds task and sample both have task"),
        (kind("sample", "queueops.events", records=("a b",)), "'a b' among its records is not valid"),
        (kind("sample", "queueops.events", subkeys={"rounds": "hash"}), "write it as '#rounds'"),
        (kind("sample", "queueops.events", records=("chain",)), "composites and sample both have chain"),
        (
            kind("sample", "queueops.events", subkeys={"#open": "hash"}),
            "composites and sample both have #open",
        ),
    ],
    ids=["name", "task", "invalid", "invalid sub-key", "records", "subkeys"],
)
def test_a_kind_that_repeats_another_is_refused(
    monkeypatch: pytest.MonkeyPatch, forgotten: None, other: Kind, message: str
) -> None:
    monkeypatch.setattr(kinds, "KINDS", (*KINDS, other))
    with pytest.raises(LookupError, match=re.escape(message)):
        library.modules.__wrapped__()
