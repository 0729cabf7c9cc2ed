"""Questions to several servers: which are asked, and which are passed over because they did not answer of late."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any, cast

import pytest

from queueops.conf import Settings
from queueops.errors import BrokerUnavailable
from queueops.errors.refusals import StoreRefuses
from queueops.redis import fanout
from queueops.redis.fanout import FanOut

AWAY = partial(BrokerUnavailable, url="redis:", attempts=1, reason="no answer")
REFUSES = partial(StoreRefuses, url="redis:", attempts=1, reason="no password", advice="Name one")


class Store:
    """A cluster with a server for each pool, of which some do not answer."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.silent: dict[str, Callable[[], BrokerUnavailable]] = {}
        servers = SimpleNamespace(is_cluster=True, clients=dict, name=lambda prefix: f"at {prefix}")
        self.fan_out = FanOut(cast(Any, servers), Settings())

    def ask(self, *pools: str) -> tuple[list[str], list[str]]:
        """The pools that were asked about, and those whose server gave no answer."""
        self.asked.clear()
        _, silent = self.fan_out.pools(pools, self._answer)
        return sorted(self.asked), sorted(silent)

    def _answer(self, pools: list[str]) -> dict[str, str]:
        self.asked += pools
        for pool in pools:
            if pool in self.silent:
                raise self.silent[pool]()
        return dict.fromkeys(pools, "an answer")


@pytest.fixture
def store() -> Store:
    return Store()


def test_a_server_that_did_not_answer_is_not_asked_again_at_once(store: Store) -> None:
    store.silent["a"] = AWAY
    assert store.ask("a", "b") == (["a", "b"], ["a"])
    assert store.ask("a", "b") == (["b"], ["a"])
    assert store.ask("b") == (["b"], [])


def test_it_is_asked_again_after_a_while(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fanout, "SKIPPED_S", 0.0)
    store.silent["a"] = AWAY
    assert [store.ask("a", "b") for _ in range(2)] == [(["a", "b"], ["a"])] * 2


def test_an_answer_ends_the_silence(store: Store) -> None:
    store.silent["a"] = AWAY
    with pytest.raises(BrokerUnavailable, match="no answer"):
        store.ask("a")
    store.silent.clear()
    assert store.ask("a") == (["a"], [])  # no other server is there to be asked
    assert store.ask("a", "b") == (["a", "b"], [])


def test_a_server_that_refuses_is_asked_each_time(store: Store) -> None:
    """It answers at once, so nothing waits for it."""
    store.silent["a"] = REFUSES
    assert [store.ask("a", "b") for _ in range(2)] == [(["a", "b"], ["a"])] * 2
