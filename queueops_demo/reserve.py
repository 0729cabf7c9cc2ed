"""Reservation of a demo: its directory and its port, both taken before any process starts."""

from __future__ import annotations

import fcntl
import os
import socket
from dataclasses import dataclass, replace

from django.core.exceptions import ImproperlyConfigured

from console.project.environment import private_folder
from queueops_demo.instance import Instance


class DemoFailed(Exception):
    """The demo cannot continue; the message gives the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reserved:
    """The instance with its real port, its lock file and its listening socket."""

    instance: Instance
    lock: int
    listener: socket.socket

    def close(self) -> None:
        """Release the directory and the port."""
        self.listener.close()
        os.close(self.lock)


def reserve(instance: Instance) -> Reserved:
    """Take the directory and the port, or neither. Raises DemoFailed."""
    lock = _lock(instance)
    try:
        listener = _listen(instance)
    except (OSError, OverflowError) as error:
        os.close(lock)
        raise DemoFailed(f"cannot listen on {instance.host}:{instance.port}: {error}. Use --port or --host.") from error
    return Reserved(instance=replace(instance, port=listener.getsockname()[1]), lock=lock, listener=listener)


def _lock(instance: Instance) -> int:
    try:
        private_folder(instance.data)
        lock = os.open(instance.data / "demo.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except ImproperlyConfigured as error:
        raise DemoFailed(str(error)) from error
    except OSError as error:
        raise DemoFailed(f"the directory {instance.data} cannot be used: {error}") from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        raise DemoFailed(f"another demo runs in {instance.data}. End it, or use --data DIR.") from None
    return lock


def _listen(instance: Instance) -> socket.socket:
    family = socket.AF_INET6 if ":" in instance.host else socket.AF_INET
    listener = socket.create_server((instance.host, instance.port), family=family, backlog=128)
    listener.set_inheritable(True)
    return listener
