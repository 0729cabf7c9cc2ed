"""Programs in eager mode, on the embedded server and on fakeredis: the same comes of them as with a worker."""

from __future__ import annotations

import functools
import sys
from typing import Any

import pytest

from queueops.errors import EmbeddedFailed
from queueops.errors.kinds import NeedsServer
from queueops.testing import eager, eager_store, run_worker
from tests.support import tasks_for_tests as tasks
from tests.testing.programs import PROGRAMS, Program, outcome, told

fakes = functools.cache(eager_store.FakeStores)


@pytest.fixture
def without_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without a server program."""

    def find_nothing(home: Any) -> str:
        raise EmbeddedFailed(directory=home, verb="start", reason="there is none")

    monkeypatch.setattr(eager_store, "find_server", find_nothing)
    monkeypatch.setattr(eager_store, "_maker", functools.cache(eager_store._maker.__wrapped__))


def eagerly(program: Program) -> dict[str, Any]:
    told.clear()
    with eager():
        return outcome(program(lambda: None))


def with_a_worker(program: Program) -> dict[str, Any]:
    told.clear()
    handle = program(run_worker)
    run_worker()
    return outcome(handle)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_ends_the_same_on_each_store(name: str, namespace: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program = PROGRAMS[name]
    wanted = with_a_worker(program)
    assert eagerly(program) == wanted
    monkeypatch.setattr(eager_store, "_maker", fakes)
    assert eagerly(program) == wanted


@pytest.mark.usefixtures("without_server")
def test_without_a_server_program_it_is_fakeredis() -> None:
    with eager() as broker:
        assert tasks.Letters.push("one", "two").result() == 6
        assert type(broker.scripts) is eager_store.FakeScripts


@pytest.mark.usefixtures("without_server")
@pytest.mark.parametrize("package", ["fakeredis", "lupa"])
def test_without_both_one_sentence_says_what_to_install(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with eager():
        assert tasks.add.push(1).result() == 2  # a plain task needs neither
        with pytest.raises(NeedsServer, match=r"pip install 'queueops\[embedded\]' - or 'fakeredis\[lua\]'"):
            tasks.Letters.push("one")
