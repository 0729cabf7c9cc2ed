"""`python -m tests.soak --minutes 10 --seed N`: exit status 0 when nothing was lost and nothing is wrong, else 1."""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import django

from tests.support import servers

if TYPE_CHECKING:
    from tests.soak.faults import Scene
    from tests.soak.work import Expected

SHOWN = 50
DRAIN_SECONDS = 300.0


def main() -> int:
    """Run it in a folder and on a store of its own."""
    options = _options()
    if options.folder:
        options.folder.mkdir(parents=True, mode=0o700)
        return _run(options.folder.absolute(), options)
    with tempfile.TemporaryDirectory(prefix="queueops-soak-") as folder:
        return _run(Path(folder), options)


def _run(folder: Path, options: argparse.Namespace) -> int:
    store = folder / "store"
    os.environ |= {
        "DJANGO_SETTINGS_MODULE": "tests.faults.settings",
        "QUEUEOPS_TESTS_DATA": str(folder),
        "QUEUEOPS_TESTS_URL": f"embedded:{store}",
        "QUEUEOPS_TESTS_LEDGER": str(folder / "ledger"),
    }
    django.setup()
    from queueops.redis import embedded
    from tests.soak.faults import STORE

    embedded.start(store, options=STORE)
    try:
        return _soak(folder, store, options)
    finally:
        embedded.stop(store)


def _soak(folder: Path, store: Path, options: argparse.Namespace) -> int:
    from tests.soak import verdict
    from tests.soak.faults import Scene, until_drained

    print(f"Soak: {options.minutes:g} minutes, seed {options.seed}, server {servers.CHOSEN}", flush=True)
    scene = Scene(folder, store, options.seed, options.rate)
    try:
        scene.harm(options.minutes * 60, options.every)
        scene.stop_pushing()
        begun = time.monotonic()
        until_drained(scene, lambda: not verdict.open_tasks(), DRAIN_SECONDS)
        drained = time.monotonic() - begun
        expected = verdict.acknowledged(scene.acknowledged)
        found = list(verdict.problems(expected))
    finally:
        scene.end()
    report = _report(scene, expected, drained) | {"problems": len(found)}
    print(json.dumps(report, indent=1), *found[:SHOWN], sep="\n", flush=True)
    return int(bool(found))


def _report(scene: Scene, expected: list[Expected], drained: float) -> dict[str, object]:
    starts = scene.ledger.starts()
    return {
        "acknowledged": len(expected),
        "by kind": dict(Counter(task.kind for task in expected)),
        "faults": dict(scene.faults),
        "starts": sum(starts.values()),
        "started more than once": sum(count > 1 for count in starts.values()),
        "seconds to drain": round(drained, 1),
    }


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10, help="for how long work comes and faults are made")
    parser.add_argument("--seed", type=int, default=1, help="of the mix of work and of the faults")
    parser.add_argument("--rate", type=float, default=30, help="pieces of work in a second")
    parser.add_argument("--every", type=float, default=2, help="seconds between two faults, on average")
    parser.add_argument("--folder", type=Path, help="a new folder that is kept: store, ledger and logs")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
