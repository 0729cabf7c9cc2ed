"""One producer process: `python -m tests.soak.producer NAME SEED RATE FILE`. Writes what the store has acknowledged.

A kill loses or keeps a line of the file whole. Ends at SIGTERM.
"""

from __future__ import annotations

import json
import signal
import sys
import time
from pathlib import Path

import django


def main(name: str, seed: int, rate: float, acknowledged: Path) -> None:
    """Push at this rate (pieces of work in a second) until told to stop."""
    from tests.soak.work import Mix

    told: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: told.append(number))
    mix = Mix(name, seed)
    with acknowledged.open("a", buffering=1) as lines:
        while not told:
            lines.write("".join(json.dumps(expected) + "\n" for expected in mix.push()))
            time.sleep(1 / rate)


if __name__ == "__main__":
    django.setup()
    main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), Path(sys.argv[4]))
