"""The peers live in an environment of their own under var/benchmarks.

It is made from the `bench` extra of pyproject.toml once, and kept while that is unchanged; BullMQ comes from npm.
"""

import hashlib
import json
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
HOME = ROOT / "var" / "benchmarks"
BULLMQ = ("bullmq@^6", "ioredis@^5")


def python() -> str:
    """The interpreter of the peers' environment."""
    return str(HOME / "venv" / "bin" / "python")


def node_modules() -> str:
    """Where BullMQ is."""
    return str(HOME / "node" / "node_modules")


def versions() -> dict[str, str]:
    """What is installed, by package name."""
    found: dict[str, str] = {}
    if Path(python()).exists():
        listing = _output([python(), "-m", "pip", "list", "--format", "json", "--disable-pip-version-check"])
        found = {row["name"]: row["version"] for row in json.loads(listing)}
    manifest = Path(node_modules()) / "bullmq" / "package.json"
    if manifest.exists():
        found["bullmq"] = json.loads(manifest.read_text())["version"]
    return found


def peers() -> None:
    """Install what is missing; raises CalledProcessError when a registry can't be reached."""
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]["bench"]
    mark = HOME / "venv" / hashlib.sha256("\n".join(wanted).encode()).hexdigest()[:12]
    if not mark.exists():
        _run([sys.executable, "-m", "venv", str(HOME / "venv")])
        _run([python(), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *wanted])
        mark.touch()
    if shutil.which("npm") and not (Path(node_modules()) / "bullmq").exists():
        (HOME / "node").mkdir(parents=True, exist_ok=True)
        _run(["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(HOME / "node"), *BULLMQ])


def _run(command: list[str]) -> None:
    print("  $", " ".join(command), file=sys.stderr, flush=True)
    subprocess.run(command, check=True, stdout=sys.stderr)


def _output(command: list[str]) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout
