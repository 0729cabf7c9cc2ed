"""Expiry: the moment by which a task must have begun, as its record has it. `lib/expiry.lua` acts on it."""

from __future__ import annotations

from queueops.model.durations import When


def written(expiry: When) -> str:
    """The field of the record: epoch milliseconds, or the milliseconds from the task's creation after a `+`."""
    return str(expiry.due_ms) if expiry.delay_ms is None else f"+{expiry.delay_ms}"


def moment_ms(field: str, created_ms: int) -> int | None:
    """The moment of such a field, in epoch milliseconds; None without one, or if it is not readable."""
    digits = field.removeprefix("+")
    if not (digits.isascii() and digits.isdigit()):
        return None
    return int(digits) + (created_ms if field.startswith("+") else 0)
