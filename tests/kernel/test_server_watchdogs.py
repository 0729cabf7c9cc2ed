"""A watchdog for each server of a cluster: what each is told of its pools."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from queueops.errors import BrokerUnavailable
from queueops.errors.refusals import LibraryRefused
from queueops.watchdog import servers
from queueops.watchdog.servers import Servers
from tests.support.waiting import wait_until


class Round:
    """The watchdog of one server, which waits until it is stopped."""

    def __init__(self, pools: Callable[[], list[str]]) -> None:
        self.pools = pools
        self.stopped = threading.Event()

    def watch(self) -> None:
        self.stopped.wait()

    def stop(self) -> None:
        self.stopped.set()


def test_each_server_has_one_watchdog_which_knows_of_new_and_moved_pools(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(servers, "LOOK_EVERY_S", 0.0)
    made: list[tuple[str, Round]] = []
    known: dict[str, list[str]] | None = {"north": ["a"], "south": ["b"]}
    end, failed = threading.Event(), threading.Event()

    def by_server() -> dict[str, list[str]]:
        if known is None:
            failed.set()
            raise BrokerUnavailable(url="redis:", attempts=1, reason="no answer")
        return known

    def make(server: str, pools: Callable[[], list[str]]) -> Round:
        made.append((server, Round(pools)))
        return made[-1][1]

    def told() -> dict[str, list[str]]:
        return {server: each.pools() for server, each in made}

    thread = threading.Thread(target=Servers(by_server, make).run, args=(end.is_set,))
    thread.start()
    try:
        wait_until(lambda: told() == {"north": ["a"], "south": ["b"]})
        known = {"south": ["a", "b"], "east": ["c"]}
        wait_until(lambda: told() == {"north": [], "south": ["a", "b"], "east": ["c"]})
        known = None
        assert failed.wait(60)
        assert told() == {"north": [], "south": ["a", "b"], "east": ["c"]}
    finally:
        end.set()
        thread.join()
    assert sorted(server for server, _ in made) == ["east", "north", "south"]
    assert all(each.stopped.is_set() for _, each in made)


def test_an_unexpected_error_of_a_look_ends_no_watchdog(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(servers, "LOOK_EVERY_S", 0.0)
    looks = iter([ValueError("a reply that cannot be read"), {"north": ["a"]}])
    made: list[Round] = []
    end = threading.Event()

    def by_server() -> dict[str, list[str]]:
        look = next(looks, {"north": ["a"]})
        if isinstance(look, ValueError):
            raise look
        return look

    def make(server: str, pools: Callable[[], list[str]]) -> Round:
        made.append(Round(pools))
        return made[-1]

    thread = threading.Thread(target=Servers(by_server, make).run, args=(end.is_set,))
    thread.start()
    try:
        wait_until(lambda: made or not thread.is_alive())
        assert [each.pools() for each in made] == [["a"]]
    finally:
        end.set()
        thread.join()
    assert "a reply that cannot be read" in caplog.text


def test_a_watchdog_that_broke_is_made_again(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(servers, "LOOK_EVERY_S", 0.0)
    made: list[Round] = []
    end = threading.Event()

    class Broken(Round):
        def watch(self) -> None:
            raise ValueError("a round went wrong")

    def make(server: str, pools: Callable[[], list[str]]) -> Round:
        made.append(Round(pools) if made else Broken(pools))
        return made[-1]

    thread = threading.Thread(target=Servers(lambda: {"north": ["a"]}, make).run, args=(end.is_set,))
    thread.start()
    try:
        wait_until(lambda: len(made) == 2)
        assert made[1].pools() == ["a"]
    finally:
        end.set()
        thread.join()
    assert len(made) == 2
    assert made[1].stopped.is_set()
    assert "north" in caplog.text
    assert "a round went wrong" in caplog.text


def test_a_server_that_refuses_the_library_ends_all_watchdogs() -> None:
    made: list[Round] = []

    class Refused(Round):
        def watch(self) -> None:
            raise LibraryRefused(reason="a line that is wrong", place="", advice="Correct it")

    def make(server: str, pools: Callable[[], list[str]]) -> Round:
        made.append((Refused if server == "north" else Round)(pools))
        return made[-1]

    with pytest.raises(LibraryRefused, match="a line that is wrong"):
        Servers(lambda: {"north": ["a"], "south": ["b"]}, make).run(lambda: False)
    assert len(made) == 2
    assert all(each.stopped.is_set() for each in made)
