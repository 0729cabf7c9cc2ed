"""What a demo must have for itself: its directory and its port. Both are taken before anything is started."""

from __future__ import annotations

import fcntl
import os
import socket
from dataclasses import dataclass, replace

from django.core.exceptions import ImproperlyConfigured

from console.demo.place import Place
from console.project.environment import private_folder


class DemoFailed(Exception):
    """The demo cannot go on; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reserved:
    """The place with the port that it really has, and what keeps others out."""

    place: Place
    lock: int
    listener: socket.socket

    def close(self) -> None:
        """Leave the place to others."""
        self.listener.close()
        os.close(self.lock)


def reserve(place: Place) -> Reserved:
    """Take the directory and the port, or leave all as it was. Raises DemoFailed."""
    lock = _lock(place)
    try:
        listener = _listen(place)
    except (OSError, OverflowError) as error:
        os.close(lock)
        raise DemoFailed(f"cannot listen on {place.host}:{place.port}: {error}. Use --port or --host.") from error
    return Reserved(place=replace(place, port=listener.getsockname()[1]), lock=lock, listener=listener)


def _lock(place: Place) -> int:
    try:
        private_folder(place.data)
        lock = os.open(place.data / "demo.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except ImproperlyConfigured as error:
        raise DemoFailed(str(error)) from error
    except OSError as error:
        raise DemoFailed(f"the directory {place.data} cannot be used: {error}") from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        raise DemoFailed(f"another demo runs in {place.data}. End it, or use --data DIR.") from None
    return lock


def _listen(place: Place) -> socket.socket:
    family = socket.AF_INET6 if ":" in place.host else socket.AF_INET
    listener = socket.create_server((place.host, place.port), family=family, backlog=128)
    listener.set_inheritable(True)
    return listener
