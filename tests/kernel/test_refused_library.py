"""A Lua library that the server refuses: each call and the system check report it, and not as an outage."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis
from redis.exceptions import ResponseError

from queueops.checks import check_kinds, check_store
from queueops.conf import Settings
from queueops.errors.refusals import LibraryRefused
from queueops.model import kinds
from queueops.model.contracts import RoundTrip
from queueops.model.kinds import KINDS
from queueops.redis import library
from queueops.redis.broker import RedisBroker
from queueops.redis.scripts import refusal
from queueops.redis.store_client import BATCH
from queueops.watchdog import Watchdog
from tests.kernel.desk import FOREVER, POOL, make
from tests.support.for_each import for_each
from tests.support.kinds import kind

CACHES = (library.modules, library.functions, library.hooks, library.library, library.script)
BROKEN = {
    "syntax": ("lua/lib/probe.lua", "\nlocal a =\n", "lib/probe.lua, line 3"),
    "load": ("lua/lib/probe.lua", "\n\nlib.nothing.probe = 1\n", "lib/probe.lua, line 3"),
    "function": ("lua/probe.lua", "#!lua\nreturn = 1\n", "probe.lua, line 2"),
}


def _forget() -> None:
    kinds.forget()
    for each in CACHES:
        each.cache_clear()


@pytest.fixture(params=BROKEN)
def mistake(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[str]:
    """Registers a kind with a mistake in its Lua; the place of the mistake."""
    path, text, place = BROKEN[request.param]
    file = tmp_path / "refused_kind" / path
    file.parent.mkdir(parents=True)
    file.write_text(text)
    (tmp_path / "refused_kind" / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(kinds, "KINDS", (*KINDS, kind("refused", "refused_kind")))
    _forget()
    yield place
    monkeypatch.undo()
    sys.modules.pop("refused_kind", None)
    _forget()


@pytest.fixture
def broker(mistake: str, redis_url: str, namespace: str) -> Iterator[RedisBroker]:
    """A broker whose library has the mistake."""
    broker = RedisBroker(Settings(url=redis_url, namespace=namespace))
    yield broker
    broker.close()


def test_each_call_reports_the_place_and_leaves_nothing(
    broker: RedisBroker, mistake: str, redis_client: redis.Redis
) -> None:
    libraries, watchdog = redis_client.function_list(), Watchdog(broker)
    calls = (
        lambda: broker.push([make("a", pool=POOL)]),
        lambda: broker.exchange(POOL, "w1", RoundTrip(want=1)),
        lambda: broker.tick(POOL),
        lambda: broker.load_library(POOL),
        watchdog.round,
        watchdog.watch,
    )
    for call in calls:
        with pytest.raises(LibraryRefused, match="refuses the Lua library of QueueOps: Error ") as caught:
            call()
        assert caught.value.place == mistake
        assert f"Correct {mistake}, or uninstall the package" in str(caught.value)
    assert redis_client.function_list() == libraries
    assert [key for key in redis_client.keys("*") if b":tasks" in key or b":agenda" in key] == []


def test_a_batch_on_a_connection_of_its_own_reports_the_place(broker: RedisBroker, mistake: str) -> None:
    pushes = broker.pushes(POOL)
    for batch in ("a", "b"):
        pushes.send([make(f"{batch}{number}", pool=POOL) for number in range(BATCH)])
    for _ in range(2):
        with pytest.raises(LibraryRefused, match=mistake):
            pushes.receive()
        assert pushes._line is None  # the replies of the next batch may be missing there
    pushes.close()


def test_the_check_of_a_deploy_reports_the_place(mistake: str, namespace: str) -> None:
    assert check_kinds() == []
    (error,) = (message for message in check_store() if message.id == "queueops.E112")
    assert f"Correct {mistake}, or uninstall" in error.msg


def test_a_library_without_a_mistake_is_loaded_by_the_check(namespace: str, redis_client: redis.Redis) -> None:
    redis_client.function_flush()
    for _ in range(2):
        assert "queueops.E112" not in [message.id for message in check_store()]
    assert redis_client.function_list(library.library().name)


@pytest.mark.parametrize("mistake", ["syntax"], indirect=True)
def test_a_script_with_a_mistake_is_refused_too(broker: RedisBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    text = library.script("tick").replace("do -- lanes\n", "do -- lanes\n\nlocal a = =\n")
    monkeypatch.setattr(library, "script", lambda name, shebang: text)
    broker.scripts.without_functions(FOREVER)
    with pytest.raises(LibraryRefused) as caught:
        broker.tick(POOL)
    assert caught.value.place == "lib/lanes.lua, line 2"


@for_each(
    "text",
    [
        "OOM command not allowed when used memory > 'maxmemory'.",
        "BUSY Redis is busy running a script.",
        "MISCONF Errors writing to the AOF file",
        "FUNCTION LOAD timeout",
        "unknown command 'FUNCTION'",
        "User a has no permissions to run the 'function|load' command",
    ],
)
def test_what_passes_or_has_a_fallback_is_not_a_refusal_of_the_library(text: str) -> None:
    assert refusal(ResponseError(text), "") is None


def test_a_refusal_without_a_line_names_the_operator() -> None:
    refused = refusal(ResponseError("Library names can only contain letters."), "")
    assert refused is not None
    assert refused.place == ""
    assert "Ask the operator of the server" in str(refused)
