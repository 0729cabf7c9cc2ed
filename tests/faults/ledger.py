"""What tasks write down of themselves where no fault of Redis reaches, and gates at which a test can hold them."""

from __future__ import annotations

import os
import time
from pathlib import Path

from queueops import current


def note(phase: str) -> None:
    """One line of the ledger about the task that runs."""
    context = current()
    write(f"{context.id} {context.lease.fence} {os.getpid()} {phase}\n")


def write(line: str) -> None:
    """One line of the ledger: one write, so that a kill loses or keeps it whole."""
    descriptor = os.open(os.environ["QUEUEOPS_TESTS_LEDGER"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    try:
        os.write(descriptor, line.encode())
    finally:
        os.close(descriptor)


def noted(phase: str) -> int:
    """How often this was noted up to now."""
    lines = Path(os.environ["QUEUEOPS_TESTS_LEDGER"]).read_text().splitlines()
    return sum(line.endswith(f" {phase}") for line in lines)


def gate(ledger: str | Path, name: str) -> Path:
    """The file that is there while a gate is closed."""
    return Path(f"{ledger}.{name}.closed")


def is_closed(name: str) -> bool:
    """Whether the test keeps this gate closed."""
    return gate(os.environ["QUEUEOPS_TESTS_LEDGER"], name).exists()


def pass_gate(name: str) -> None:
    """Wait for as long as it does."""
    while is_closed(name):
        time.sleep(0.01)
