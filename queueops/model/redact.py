"""Redaction: masks secrets in data and in text before they are shown, logged or stored for display.

In data, a value is masked if its key contains one of the patterns, in any case. `token` masks `Api-Token`, and
`api_key` masks `apikey` and `API-Key`. A pattern between underscores is a whole part of a name. `_pass_` masks `pass`,
`db_pass` and `dbPass`, but not `passed` or `bypass`. In text, the same holds for `key=value`, `"key": value`, `("key",
"value")` and `--key value`. Credentials in URLs, tokens after `Bearer` and private keys are masked whatever the
patterns are.

The time for a text is proportional to its length, whatever it contains.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from queueops.model.encryption import without_sealed, without_tokens
from queueops.model.redact_text import MASK as MASK
from queueops.model.redact_text import Words, mask_text
from queueops.model.redact_text import mask_in as mask_in

PATTERNS = (
    "password", "passwd", "passphrase", "pwd", "secret", "token", "api_key", "access_key", "private_key",
    "credential", "authorization", "cookie", "session_id", "signature", "_pass_",
    "_pw_",
)  # fmt: skip
"""The default of the setting REDACT."""
HIDDEN = "[hidden]"
DEEPEST = 40  # examined nesting; everything deeper is masked as a whole
ELLIPSIS = "…"
NAMES, VALUES = ("name", "key", "field", "header"), ("value", "data")
"""Keys of an object that represents one pair: `{"name": "password", "value": "x"}`."""


class Redactor:
    """Masks values by the names of their keys, and secrets in texts."""

    def __init__(self, patterns: Iterable[str]) -> None:
        self._words = Words(patterns)

    def hides(self, key: object) -> bool:
        """Whether a value under this key must be masked."""
        return self._words.found_in(str(key))

    def value(self, value: Any, depth: int = 0) -> Any:
        """The same structure, with masked secrets."""
        if isinstance(value, str):
            return mask_text(value, self._words)
        if depth > DEEPEST and isinstance(value, dict | list):
            return MASK
        if isinstance(value, dict):
            return self._object(value, depth)
        return self._list(value, depth) if isinstance(value, list) else value

    def arguments(self, value: Any, parameters: Sequence[str] = ()) -> Any:
        """Encoded arguments `[[...], {...}]`; `parameters` names the positional ones, if known."""
        if not (isinstance(value, list) and len(value) == 2 and isinstance(value[0], list)):
            return self.value(value)
        positional = [
            MASK if index < len(parameters) and self.hides(parameters[index]) else item
            for index, item in enumerate(self._list(value[0], 0))
        ]
        return [positional, self.value(value[1])]

    def text(self, text: str) -> str:
        """Free text with masked secrets, and without what no key opens."""
        return mask_text(without_tokens(text), self._words)

    def words_of_task(self, text: str) -> str:
        """Text from a task's own code: a log line, a reason. It may quote any value."""
        return self.text(text)

    def message(self, text: str) -> str:
        """The message of an error."""
        return self.text(text)

    def traceback(self, text: str) -> str:
        """A traceback."""
        return self.text(text)

    def compact(self, data: bytes, parameters: Sequence[str] = ()) -> str:
        """Encoded arguments as compact, masked JSON; as masked text if they are undecodable."""
        try:
            masked = self.arguments(json.loads(without_sealed(data)), parameters)
        except (ValueError, RecursionError):
            return self.text(readable(data))
        return json.dumps(masked, ensure_ascii=False, separators=(",", ":"))

    def document(self, data: bytes, parameters: Sequence[str] | None = None) -> str:
        """JSON bytes as readable, masked text; arguments if `parameters` is given.

        The text says if it is undecodable.
        """
        hide: Callable[[Any], Any] = self.value if parameters is None else lambda v: self.arguments(v, parameters)
        try:
            return json.dumps(hide(json.loads(without_sealed(data))), ensure_ascii=False, indent=2)
        except (ValueError, RecursionError):
            return self.text(readable(data))

    def call(self, data: bytes, parameters: Sequence[str] = (), limit: int = 120) -> str:
        """Encoded arguments as a short call: `42, template='bye'`."""
        try:
            positional, named = self.arguments(json.loads(without_sealed(data)), parameters)
            parts = [_short(item) for item in positional] + [f"{key}={_short(item)}" for key, item in named.items()]
        except (ValueError, TypeError, AttributeError, RecursionError):
            return cut(self.text(readable(data)), limit)
        return cut(", ".join(parts), limit)

    def _object(self, value: dict[Any, Any], depth: int) -> dict[Any, Any]:
        names_secret = any(isinstance(value.get(name), str) and self.hides(value[name]) for name in NAMES)
        return {
            self.value(key): MASK
            if self.hides(key) or (names_secret and str(key).lower() in VALUES)
            else self.value(item, depth + 1)
            for key, item in value.items()
        }

    def _list(self, value: list[Any], depth: int) -> list[Any]:
        """In a pair `["password", "x"]`, or a command line, the element after the name is masked."""
        made, is_secret = [], False
        for item in value:
            made.append(MASK if is_secret else self.value(item, depth + 1))
            names = isinstance(item, str) and (len(value) == 2 or item.startswith("-")) and "=" not in item
            is_secret = names and not is_secret and self.hides(item)
        return made


DEFAULT = Redactor(PATTERNS)


class Concealer(Redactor):
    """For viewers without the permission for arguments: shows types and places of errors, and no other text."""

    def words_of_task(self, text: str) -> str:
        """Only that there is a text."""
        return HIDDEN if text else ""

    def message(self, text: str) -> str:
        """Empty: the type of the error is shown beside it."""
        return ""

    def traceback(self, text: str) -> str:
        """File, line and function of each frame."""
        return "\n".join(line for line in text.splitlines() if _FRAME.fullmatch(line) or line in _BETWEEN)

    def document(self, data: bytes, parameters: Sequence[str] | None = None) -> str:
        """Hidden."""
        return ""

    def compact(self, data: bytes, parameters: Sequence[str] = ()) -> str:
        """Hidden."""
        return ""

    def call(self, data: bytes, parameters: Sequence[str] = (), limit: int = 120) -> str:
        """Hidden."""
        return ""


_FRAME = re.compile(r' *(?:\|  *)?File "[\w./\\:<>@+ -]{1,300}", line \d{1,9}(?:, in [\w.<>]{1,200})?')
_BETWEEN = frozenset(
    {
        "Traceback (most recent call last):",
        "The above exception was the direct cause of the following exception:",
        "During handling of the above exception, another exception occurred:",
    }
)


def readable(data: bytes) -> str:
    """Any bytes as text: bytes that are not UTF-8 are written as hexadecimal codes. A sealed value is not shown."""
    return without_sealed(data).decode("utf-8", "backslashreplace")


def cut(text: str, limit: int) -> str:
    """At most `limit` characters, with an ellipsis if the text was longer."""
    return text if len(text) <= limit else text[: limit - 1] + ELLIPSIS


def _short(value: Any) -> str:
    return MASK if value == MASK else json.dumps(value, ensure_ascii=False)
