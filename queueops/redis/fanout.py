"""Fan-out queries: ask all servers of a store in parallel; name the silent servers, and return the other replies."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import Any, TypeVar

from redis.exceptions import ClusterDownError

from queueops.conf import Settings
from queueops.errors import BrokerUnavailable
from queueops.errors.refusals import StoreRefuses
from queueops.model.store_url import masked
from queueops.redis.call_limits import repeat
from queueops.redis.error_translation import slot_moves
from queueops.redis.keys import Keys
from queueops.redis.servers import Cluster, OneServer

COPIES_WITHIN_S = 0.2
"""Seconds that other copies may take after the first reply."""
SKIPPED_S = 5.0
"""Seconds for which a server that did not answer is skipped; otherwise every page would wait for it again."""

T = TypeVar("T")
Group = TypeVar("Group")
AskCopies = Callable[[Sequence[str], Callable[[Any, str], Any]], dict[str, Any]]
"""Makes a redis-py call about each of these keys, which are copies of one another, and gives the replies."""


class Silence:
    """The servers that did not answer recently, and why. Thread-safe."""

    def __init__(self) -> None:
        self._until: dict[str, tuple[float, str]] = {}

    def reason(self, server: str) -> str:
        """Why a server is skipped now; empty if it is asked."""
        until, reason = self._until.get(server, (0.0, ""))
        return reason if time.monotonic() < until else ""

    def begin(self, server: str, reason: str) -> None:
        """Record that the server did not answer."""
        self._until[server] = (time.monotonic() + SKIPPED_S, reason)

    def end(self, server: str) -> None:
        """Record that the server answered."""
        self._until.pop(server, None)


class FanOut:
    """Queries the servers of one store."""

    def __init__(self, servers: OneServer | Cluster, settings: Settings) -> None:
        self._servers = servers
        self._settings = settings
        self._silence = Silence()

    def pools(
        self, names: Iterable[str], call: Callable[[list[str]], Mapping[str, T]]
    ) -> tuple[dict[str, T], dict[str, str]]:
        """Ask each server about its own pools. Returns the replies, and the reason for each pool without one.

        Raises BrokerUnavailable if no server answers.
        """
        names = list(names)
        if not names or not self._servers.is_cluster:
            return (dict(call(names)) if names else {}), {}
        groups, silent = self.homes(names)
        answers, reasons = self._ask(groups, lambda names: self._while_slots_move(names, call, silent))
        for server, reason in reasons.items():
            silent |= dict.fromkeys(groups[server], reason)
        found = {pool: answer for each in answers.values() for pool, answer in each.items()}
        if silent and not found:
            raise self.unavailable(next(iter(silent.values())))
        return {pool: found[pool] for pool in names if pool in found}, silent

    def _while_slots_move(
        self, names: list[str], call: Callable[[list[str]], Mapping[str, T]], silent: dict[str, str]
    ) -> dict[str, T]:
        """The replies about the pools of one server. Once the slot of one has moved, each is asked by itself.

        A pool whose slot is still on its way becomes ``silent``; its server does not.
        """
        try:
            return dict(call(names))
        except BrokerUnavailable as error:
            if not slot_moves(error.__cause__):
                raise
            if len(names) == 1:
                silent[names[0]] = error.reason
                return {}
        return {pool: answer for one in names for pool, answer in self._while_slots_move([one], call, silent).items()}

    def copies(self, keys: Sequence[str], ask: Callable[[str], T]) -> dict[str, T]:
        """Ask for keys that are copies of one another. Returns the first reply, and the replies right after it.

        Raises BrokerUnavailable if no server answers.
        """
        calls = {key: _begin(self._copy, key, ask) for key in keys}
        left: set[Future[T]] = set(calls.values())
        while left and not any(_is_answer(each) for each in calls.values()):
            _, left = wait(left, return_when=FIRST_COMPLETED)
        wait(left, COPIES_WITHIN_S)
        found = {key: each.result() for key, each in calls.items() if _is_answer(each)}
        for each in () if found else calls.values():
            each.result()
        return found

    def _copy(self, key: str, ask: Callable[[str], T]) -> T:
        server = repeat(self._servers, self._settings, key, self._servers.name, key)
        if reason := self._silence.reason(server):
            raise self.unavailable(reason)
        return self._one(server, key, ask)

    def find(self, names: Iterable[str], call: Callable[[list[str]], Mapping[str, T]]) -> dict[str, T]:
        """Search pools. Raises BrokerUnavailable if nothing is found, and a server did not answer."""
        found, silent = self.pools(names, call)
        if silent and not found:
            raise self.unavailable(next(iter(silent.values())))
        return found

    def unavailable(self, reason: str) -> BrokerUnavailable:
        """The error of a server that did not answer."""
        return BrokerUnavailable(url=masked(self._settings.url), attempts=0, reason=reason)

    def servers(self, call: Callable[[Any], T]) -> tuple[dict[str, T], dict[str, str]]:
        """Call each server with its client.

        Returns replies by server name, and why the other servers did not answer.
        """
        clients = self._clients()
        if not self._servers.is_cluster:
            return {name: call(client) for name, client in clients.items()}, {}
        return self._ask(clients, call)

    def homes(self, names: Iterable[str]) -> tuple[dict[str, list[str]], dict[str, str]]:
        """The pools of each server, and the reason for each pool without a server. Raises BrokerUnavailable."""
        self._clients()
        groups: dict[str, list[str]] = {}
        homeless: dict[str, str] = {}
        for pool in names:
            try:
                groups.setdefault(self._home(pool), []).append(pool)
            except ClusterDownError as error:
                homeless[pool] = str(error)
        return groups, homeless

    def _clients(self) -> dict[str, Any]:
        return repeat(self._servers, self._settings, "", self._servers.clients)

    def _home(self, pool: str) -> str:
        """The server of a pool. If no server has its slot, the slot map is read again: it may have moved."""
        prefix, servers = Keys(self._settings.namespace, pool).prefix, self._servers
        try:
            return servers.name(prefix)
        except ClusterDownError as error:
            servers.failed(prefix, error)
            return servers.name(prefix)

    def _ask(self, groups: Mapping[str, Group], call: Callable[[Group], T]) -> tuple[dict[str, T], dict[str, str]]:
        """The replies, and the reasons of servers without one. If all were silent recently, all are asked."""
        reasons = {server: reason for server in groups if (reason := self._silence.reason(server))}
        asked = {server: group for server, group in groups.items() if server not in reasons} or groups
        answers: dict[str, T] = {}
        error = self.unavailable("no server has the slot of the pool")
        calls = {server: _begin(self._one, server, group, call) for server, group in asked.items()}
        for server, answer in calls.items():
            try:
                answers[server] = answer.result()
                reasons.pop(server, None)
            except BrokerUnavailable as unavailable:
                error, reasons[server] = unavailable, unavailable.reason
        if not answers:
            raise error
        return answers, reasons

    def _one(self, server: str, group: Group, call: Callable[[Group], T]) -> T:
        try:
            answer = call(group)
        except BrokerUnavailable as error:
            error.reason = f"server {server}: {error.reason}"
            if not isinstance(error, StoreRefuses):
                self._silence.begin(server, error.reason)
            raise
        self._silence.end(server)
        return answer


def _begin(call: Callable[..., T], *arguments: Any) -> Future[T]:
    """Make a call in a daemon thread, which does not keep the process alive."""
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(call(*arguments))
        except BaseException as error:  # the waiting caller gets it
            future.set_exception(error)

    threading.Thread(target=run, name="queueops-ask", daemon=True).start()
    return future


def _is_answer(future: Future[Any]) -> bool:
    return future.done() and future.exception() is None
