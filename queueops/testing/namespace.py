"""Test namespace: only this test sees its tasks, and its data is deleted at the end."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from django.conf import settings
from django.test.utils import override_settings

import queueops
from queueops.errors import BrokerUnavailable
from queueops.errors.kinds import NotOffered
from queueops.events import hub
from queueops.model.capabilities import Capability
from queueops.redis.broker import get_broker
from queueops.results import waiting
from queueops.tasks.discovery import tasks_run_here


class Namespace(str):
    """The name of a namespace, with the attributes of the package.

    So a test whose parameter `queueops` hides the module can still write `queueops.get(id)`.
    """

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        """The package's attribute of this name."""
        return getattr(queueops, name)


@contextmanager
def namespace(url: str = "") -> Iterator[Namespace]:
    """Use an empty namespace in this block; gives its name, and deletes its data at the end.

    The store is that of the settings, or that of `url`. Raises BrokerUnavailable when it does not answer, and
    NotOffered if it is not Redis.
    """
    name = Namespace(f"test-{uuid.uuid4().hex[:12]}")
    own = {"URL": url, "NAMESPACE": str(name)} if url else {"NAMESPACE": str(name)}
    with override_settings(QUEUEOPS={**getattr(settings, "QUEUEOPS", {}), **own}), tasks_run_here():
        broker = get_broker()
        if Capability.NAMESPACES not in broker.capabilities:
            raise NotOffered(store=type(broker).__name__, capability=Capability.NAMESPACES)
        _ask(lambda client: client.ping())  # a missing store is one error, before the test
        try:
            yield name
        except BaseException as error:
            _end_after(name, error)
            raise
        _end(name)


def _end_after(name: str, error: BaseException) -> None:
    """The test's own error is raised; a lost store is added to it as a note."""
    try:
        _end(name)
    except BrokerUnavailable as gone:
        error.add_note(f"The namespace {name} could not be removed: {gone}")


def _end(name: str) -> None:
    """Delete all keys of the namespace; SCAN is for tests only."""
    waiting.close()
    hub.close()
    try:
        for key in _ask(lambda client: list(client.scan_iter(match=f"{{{name}:*", count=1000))):
            _ask(partial(_delete, key))
        for key in (*get_broker().registry.keys, *get_broker().library_use.keys):
            _ask(partial(_delete, key))
    finally:
        get_broker().close()


def _delete(key: bytes | str, client: Any) -> None:
    client.delete(key)


def _ask(call: Callable[[Any], Any]) -> Any:
    """Raises BrokerUnavailable."""
    broker = get_broker()
    return broker.repeat(lambda: call(broker.client))
