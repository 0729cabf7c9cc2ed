"""Kinds of other packages: brought by an entry point, and refused as a whole if anything is wrong with one."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from queueops.checks import check_kinds, check_roles
from queueops.errors.kinds import BadKind
from queueops.model import kinds, states
from queueops.model.kind import Kind, Parts, Tree, Work
from queueops.model.states import StateClass
from queueops.redis import broker, library
from tests.repository.test_imports import SET_UP

GOOD = """
from queueops.model.kind import Kind, Parts, Tree, Work

class Brought(Kind):
    name = "brought"
    records = ("brought",)
    subkeys = {"#brought": "hash"}

KIND = Brought()
"""
PLACES = {"parts": "Parts", "tree": "Tree", "work": "Work"}


def with_role(role: str, module: str, name: str) -> str:
    """The kind with one role: what a module has by this name."""
    place, _, role = role.rpartition(".")
    method = f"    def {role}(self):\n        from {module} import {name}\n        return {name}\n"
    if not place:
        return GOOD.replace("KIND =", f"{method}\nKIND =")
    own = f"class Own({PLACES[place]}):\n{method}\nclass"
    return GOOD.replace("class", own).replace("KIND =", f"    {place} = Own()\nKIND =")


@pytest.fixture
def bring(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Callable[..., None]]:
    """Installs a package that brings a kind: its module, and its other files."""
    caches = (library.modules, library.functions, library.hooks, library.library, library.script, broker.broker_class)

    def forget() -> None:
        kinds.forget()
        for each in caches:
            each.cache_clear()
        for name in [name for name in sys.modules if name.partition(".")[0] == "brought_kind"]:
            del sys.modules[name]
        importlib.invalidate_caches()

    def install(text: str = GOOD, **files: str) -> None:
        info = tmp_path / "brought-1.0.dist-info"
        info.mkdir(exist_ok=True)
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: brought\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text("[queueops.kinds]\nbrought = brought_kind:KIND\n")
        lua = {"lua/lib/brought.lua": "function lib.hooks.retry.brought.reset(id) end\n"}
        for name, content in {"__init__.py": text, **lua, **files}.items():
            path = tmp_path / "brought_kind" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
        forget()

    monkeypatch.syspath_prepend(tmp_path)
    yield install
    monkeypatch.undo()
    forget()


def test_a_package_brings_a_kind_by_an_entry_point(bring: Callable[..., None]) -> None:
    before = library.library().digest
    bring()
    assert [kind.name for kind in kinds.registered()] == [*(kind.name for kind in kinds.KINDS), "brought"]
    assert library.hooks()["retry"][".brought.reset"] == "brought"
    assert library.library().digest != before
    assert check_kinds() == check_roles() == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("import nothing_like_that", "The kind brought cannot be registered: brought_kind:KIND cannot be imported: No"),
        ("1 / 0", "brought_kind:KIND cannot be imported: division by zero"),
        ("KIND = 1", "brought_kind:KIND is 1, and must be a Kind"),
        (
            GOOD.replace('name = "brought"', 'name = "operations"'),
            "the kinds operations and operations both have operations",
        ),
        (
            GOOD.replace('("brought",)', '("chain",)'),
            "the kinds composites and brought both have chain",
        ),
        (
            GOOD.replace('"#brought":', '"#open":'),
            "the kinds composites and brought both have #open",
        ),
        (
            GOOD.replace('{"#brought": "hash"}', '("#brought",)'),
            "its subkeys are ('#brought',), and must map each name to its Redis type",
        ),
        (GOOD.replace('"hash"', '"table"'), "'table', the type of #brought among its subkeys, is none of string, hash"),
        (
            GOOD.replace('subkeys = {"#brought":', 'own_subkeys = {"#<number>":'),
            "the kinds mapreduce and brought both have #<number>",
        ),
        (
            GOOD.replace('subkeys = {"#brought":', 'own_subkeys = {"#far":'),
            "the kinds composites and brought both have #far",
        ),
        (
            GOOD.replace('subkeys = {"#brought":', 'own_subkeys = {"#a<b>":'),
            "'#a<b>' among its own_subkeys is not valid; write it as '#parts:done'",
        ),
    ],
    ids=[
        *("import", "code", "type", "name", "record", "sub-key"),
        *("no types", "no such type", "own sub-key", "own and another", "invalid own sub-key"),
    ],
)
def test_a_broken_entry_point_is_refused_and_nothing_is_registered(
    bring: Callable[..., None], text: str, message: str
) -> None:
    bring(text)
    for call in (kinds.registered, lambda: kinds.roles("store"), library.library, broker.broker_class):
        with pytest.raises(BadKind, match=re.escape(message)):
            call()
    (error,) = check_kinds()
    assert (error.id, message in error.msg) == ("queueops.E006", True)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("", "its store cannot be imported: cannot import name"),
        ("class Calls: pass", "its store must be a subclass of StoreClient"),
        (
            "from queueops.redis.store_client import StoreClient\n"
            "class Calls(StoreClient):\n    def push(self): pass\n",
            "its call push is a call of the kernel already",
        ),
        (
            "from queueops.redis.store_client import StoreClient\n"
            "class Calls(StoreClient):\n    def plant(self): pass\n",
            "its call plant is a call of CompositeCalls already",
        ),
    ],
    ids=["missing", "type", "kernel", "other kind"],
)
def test_calls_of_the_store_that_do_not_fit_are_refused(bring: Callable[..., None], code: str, message: str) -> None:
    bring(with_role("store", "brought_kind.calls", "Calls"), **{"calls.py": code})
    with pytest.raises(BadKind, match=re.escape(message)):
        broker.broker_class()
    (error,) = check_kinds()
    assert (error.id, message in error.msg) == ("queueops.E006", True)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("", "its inspect brought_kind.questions has no __all__"),
        ('__all__ = ["chunks"]\nchunks = 1', "mapreduce has the name chunks of queueops.inspect, too"),
        ("import nothing_like_that", "its inspect cannot be imported: No module"),
    ],
    ids=["no names", "same name", "import"],
)
def test_public_names_that_do_not_fit_are_found_by_the_system_checks(
    bring: Callable[..., None], code: str, message: str
) -> None:
    bring(with_role("inspect", "brought_kind", "questions"), **{"questions.py": code})
    assert check_kinds() == []
    (error,) = check_roles()
    assert (error.id, message in error.msg) == ("queueops.E006", True)


@pytest.mark.parametrize(
    ("leased_as", "message"),
    [
        ('{"chain": "locked"}', "'chain' among its leased_as is none of its records"),
        ('{"brought late": "waiting"}', "'waiting', the state of brought late, is none of locked, mapping, reducing"),
    ],
    ids=["record", "state"],
)
def test_leased_states_that_do_not_fit_are_refused(bring: Callable[..., None], leased_as: str, message: str) -> None:
    bring_states(bring, f"._replace(leased_as={leased_as})")
    with pytest.raises(BadKind, match=re.escape(message)):
        library.library()
    (error,) = check_kinds()
    assert (error.id, message in error.msg) == ("queueops.E006", True)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ("word='chunk'", "mapreduce and brought declare the states of a chunk"),
        ("classes={**CHUNK_CLASSES, 'waiting': StateClass.LEASED}", "waiting is leased, and that of a task is not"),
        ("actions={}", "active stands in one of its tables alone"),
        ("transitions=[('gone', 'done', 'settle', ())]", "gone has no class"),
        ("transitions=CHUNK_TRANSITIONS * 2", "the transition active done settle is declared twice"),
    ],
    ids=["word", "task state", "actions", "transition", "twice"],
)
def test_states_of_parts_that_do_not_fit_are_refused(bring: Callable[..., None], changed: str, message: str) -> None:
    code = "from queueops.kinds.mapreduce.states import *\nfrom queueops.model.states import StateClass\n"
    parts = f"{code}PARTS = CHUNKS._replace(word='piece')._replace({changed})\n"
    text = with_role("parts.states", "brought_kind.states", "PARTS")
    bring(text, **{"states.py": parts})
    with pytest.raises(BadKind, match=re.escape(message)):
        library.library()
    (error,) = check_kinds()
    assert (error.id, message in error.msg) == ("queueops.E006", True)


OWN_STATES = "KindStates(classes={'turning': 'leased'}, actions={'turning': ('cancel',)})"


def bring_states(bring: Callable[..., None], changed: str) -> None:
    """Installs a kind with a state of its own, some of whose tables are changed."""
    code = f"from queueops.model.state_types import KindStates\nSTATES = {OWN_STATES}{changed}\n"
    bring(with_role("states", "brought_kind.states", "STATES"), **{"states.py": code})


def test_a_package_brings_states_of_tasks(bring: Callable[..., None]) -> None:
    before = states.table()
    bring_states(bring, "._replace(transitions=[('turning', 'idle', 'settle', ('worker',))])")
    assert {*states.table().states} - {*before.states} == {"turning"}
    assert states.table().classes["turning"] is StateClass.LEASED
    assert {("pending", "turning"), ("turning", "idle"), ("turning", "restart")} <= states.table().flows
    assert ("turning", "succeeded") not in states.table().flows
    assert "turning" in states.held()
    assert "turning" in states.states_allowing("cancel")
    assert "turning = 'leased'" in library.library().text
    assert check_kinds() == []


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (".classes", "its states are {'turning': 'leased'}, and must be KindStates"),
        ("._replace(classes={'locked': 'leased'})", "the kernel has the state locked, too"),
        ("._replace(classes={'aggregating': 'parked'})", "mapreduce has the state aggregating, too"),
        ("._replace(classes={'Turns': 'leased'})", "'Turns' among its states is not valid; write it as 'turning'"),
        ("._replace(classes={'repeat': 'leased'})", "'repeat' among its states is not valid; write it as 'turning'"),
        ("._replace(classes={'turning': 'running'})", "'running', the class of its state turning, is none of leased"),
        ("._replace(classes={'turning': 'terminal'})", "'terminal', the class of its state turning, is none of leased"),
        (
            "._replace(transitions=[('turning', 'gone', 'settle', ())])",
            "'gone', a state of its transition settle, is neither its own nor the kernel's",
        ),
        (
            "._replace(transitions=[('mapping', 'turning', 'settle', ())])",
            "'mapping', a state of its transition settle, is neither its own nor the kernel's",
        ),
        (
            "._replace(transitions=[('turning', 'idle', 'dance', ())])",
            "'dance', the verb of its transition turning idle, is neither its own nor the kernel's",
        ),
        ("._replace(actions={'turning': ('dance',)})", "'dance', an action in its state turning, is none of cancel, "),
        ("._replace(actions={})", "turning stands in one of its tables alone"),
        (
            "._replace(transitions=[('turning', 'idle', 'settle', ('worker',))] * 2)",
            "the transition turning idle settle is declared twice",
        ),
        (
            "._replace(transitions=[('turning', 'failed', 'settle', ('worker',))])",
            "the transition turning failed settle is declared twice",
        ),
    ],
    ids=[
        *("type", "kernel", "kind", "word", "word of Lua", "class", "class of the kernel", "target", "source"),
        *("verb", "action", "tables", "twice", "twice with the kernel"),
    ],
)
def test_states_of_tasks_that_do_not_fit_are_refused(bring: Callable[..., None], changed: str, message: str) -> None:
    bring_states(bring, changed)
    for call in (states.table, library.library):
        with pytest.raises(BadKind, match=re.escape(message)):
            call()
    (error,) = check_kinds()
    assert (error.id, message in error.msg) == ("queueops.E006", True)


def test_states_of_other_parts_come_into_the_library(bring: Callable[..., None]) -> None:
    parts = "from queueops.kinds.mapreduce.states import CHUNKS\nPARTS = CHUNKS._replace(word='piece')\n"
    bring(with_role("parts.states", "brought_kind.states", "PARTS"), **{"states.py": parts})
    assert "local PIECE_STATES = { 'pending', 'active', 'errored', 'done', 'failed' }" in library.library().text


@pytest.mark.parametrize("role", kinds.UNNAMED)
def test_a_role_that_cannot_be_imported_is_found_by_the_system_checks(bring: Callable[..., None], role: str) -> None:
    bring(with_role(role, "brought_kind.nothing", "NAME"))
    assert check_kinds() == []
    (error,) = check_roles()
    assert error.id == "queueops.E006"
    assert f"its {role} cannot be imported: No module" in error.msg


def test_every_role_of_a_kind_is_checked_somewhere() -> None:
    holders = {"": Kind, "parts.": Parts, "tree.": Tree, "work.": Work}
    found = {f"{place}{role}" for place, of in holders.items() for role, value in vars(of).items() if callable(value)}
    elsewhere = {"fields", "store", "states", "parts.states", "settings"}  # needed at once, or of built-in kinds alone
    assert {each for each in found if "__" not in each and each != "work"} == {*kinds.NAMED, *kinds.UNNAMED, *elsewhere}


def test_manage_py_check_says_what_is_wrong_with_the_console_too(bring: Callable[..., None], tmp_path: Path) -> None:
    bring(GOOD.replace('("brought",)', '("chain",)'))
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [sys.executable, "-m", "django", "check", "--settings", "tests.settings"]
    done = subprocess.run(command, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True)
    assert done.returncode == 1
    assert "(queueops.E006) The kind brought cannot be registered: the kinds composites and brought" in done.stderr
    assert "1 issue" in done.stderr


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("import nothing_like_that", "its fields cannot be imported: No module"),
        ("FIELDS = ['zz']", "its fields must map the name of each in the store to a Field"),
        (
            "FIELDS = {'zz': 'more'}",
            "its fields must map the name of each in the store to a Field",
        ),
        ("FIELDS = {'s': Field('more')}", "the kernel and brought both have the record field s"),
        ("FIELDS = {'zz': Field('state')}", "the kernel and brought both have the record field state"),
        ("FIELDS = {'zz': Field('id')}", "the kernel and brought both have the record field id"),
        ("FIELDS = {'ag': Field('more')}", "composites and brought both have the record field ag"),
        ("FIELDS = {'zz': Field('children')}", "composites and brought both have the record field children"),
        ("FIELDS = {'zz': Field('more'), 'zy': Field('more')}", "brought and brought both have the record field more"),
        ("FIELDS = {'z_z': Field('more')}", "'z_z' among its fields is not valid"),
        ("FIELDS = {'zz': Field('more', 'int')}", "'int', the codec of its field zz, is none of text, bytes, whole"),
    ],
)
def test_fields_that_do_not_fit_are_refused_and_nothing_is_registered(
    bring: Callable[..., None], code: str, message: str
) -> None:
    text = with_role("fields", "brought_kind.fields", "FIELDS")
    bring(text, **{"fields.py": f"from queueops.model.fields import Field\n{code}\n"})
    for call in (kinds.registered, kinds.fields, library.library, broker.broker_class):
        with pytest.raises(BadKind, match=re.escape(message)):
            call()
    (error,) = check_kinds()
    assert (error.id, message in error.msg) == ("queueops.E006", True)


def test_a_sub_key_that_every_task_may_have_is_refused(bring: Callable[..., None]) -> None:
    bring(GOOD.replace('"#brought":', '"#log":'))
    with pytest.raises(BadKind, match="the kinds task and brought both have #log"):
        library.library()


def test_entry_points_are_not_read_before_the_store_is_used() -> None:
    seen = "\nfrom queueops.model import kinds\nassert kinds.registered.cache_info().currsize == 0"
    subprocess.run([sys.executable, "-c", SET_UP + seen], check=True)
