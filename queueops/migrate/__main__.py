"""Starts the migration: `python -m queueops.migrate`."""

from __future__ import annotations

import sys

from queueops.migrate.command import main

if __name__ == "__main__":
    sys.exit(main())
