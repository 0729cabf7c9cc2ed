"""Arguments of signals, patches and resets: each is checked, and the value of a signal is encoded."""

from __future__ import annotations

from typing import Any

from queueops.errors import BadOption
from queueops.tasks.encoding import encode_result
from queueops.tasks.lossy_values import encode_plain


def check_name(value: object, what: str) -> str:
    """A name of a signal or a patch. Raises BadOption."""
    if not isinstance(value, str) or not 1 <= len(value) <= 100:
        raise BadOption(name=what, value=value, expected="a text of 1 to 100 characters")
    if not value.isascii() and any("\ud800" <= character <= "\udfff" for character in value):
        raise BadOption(name=what, value=value, expected="valid Unicode, without a lone surrogate")
    return value


def check_entry(value: object) -> int:
    """The number of an entry of a history. Raises BadOption."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise BadOption(name="entry", value=value, expected="a whole number, as handle.history() is numbered from 1")
    return value


def encode_signal(name: str, value: Any, *, was_sent: bool = False) -> bytes:
    """The value of a signal as JSON. Raises BadOption for a bad name, NotEncodable and PayloadTooLarge.

    ``was_sent``: the history of the run has it. It is taken as it was then.
    """
    encode = encode_result if was_sent else encode_plain
    return encode(f"the signal {check_name(name, 'name')!r}", value, "value")
