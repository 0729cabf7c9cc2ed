"""A namespace for one test: what it pushes is seen by nobody else, and gone at its end."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.conf import settings
from django.test.utils import override_settings

from queueops import waiting
from queueops.redis.broker import get_broker


@contextmanager
def namespace(url: str = "") -> Iterator[str]:
    """In this block the store is as good as empty; gives the namespace's name, and removes what is in it at the end.

    The store is that of the settings, or that of `url`.
    """
    name = f"test-{uuid.uuid4().hex[:12]}"
    own = {"URL": url, "NAMESPACE": name} if url else {"NAMESPACE": name}
    with override_settings(QUEUEOPS={**getattr(settings, "QUEUEOPS", {}), **own}):
        try:
            yield name
        finally:
            waiting.close()
            _remove(name)


def _remove(name: str) -> None:
    """Everything under the namespace; SCAN is for tests only."""
    client: Any = get_broker().client
    for key in client.scan_iter(match=f"{{{name}:*", count=1000):
        client.delete(key)
    client.delete(f"{{{name}}}:pools")
    get_broker().close()
