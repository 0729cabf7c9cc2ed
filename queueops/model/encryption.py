"""Encryption at rest: user values are sealed where they go into the store, and opened where its replies come from.

A sealed value is a text of JSON, `"qe1:<token of Fernet>"`, whose q is written as an escape. It stands wherever the
JSON of the value stood, so the scripts move it, join it and put it into other JSON without a key. Encoders write no q
like this, so a user's own text never looks so. What is no JSON, such as a line of a log, is sealed as `qe1:<token>`.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any, overload

import msgspec

from queueops.errors import NotDecodable, QueueOpsError

if TYPE_CHECKING:
    from cryptography.fernet import MultiFernet

MARK = b"e1:gAAAA"
"""What every sealed value has: the end of the prefix, and the version of Fernet."""
_HEAD = b'"\\u0071e1:'
"""How a sealed value begins. No encoder escapes this letter, so no value of a user begins so."""
_BACKSLASH = ord("\\")
"""It is in each sealed value, and in few others. A number is found four times faster in bytes than bytes are."""
IN_CLEAR = (
    "names, ids, digests, lengths, lanes, tags, pools, and keys of limits",
    "numbers, times and states, also those of progress",
    "types and fingerprints of errors, and reasons in words",
    "results of downloads, their files, and proxies and hosts of jobs",
    "alerts, logs of processes, and reasons, filters and targets of the audit",
)
"""What the setting does not cover, as `manage.py check` and docs/encryption.md say."""
CLEAR = "clear"
"""The id of None in the place of a key."""
CLOSED = "(encrypted)"
"""What stands for a sealed text that no key opens."""
_TOKEN = re.compile(rb'(?<!\\)(\\*)"\1\\u0071e1:(gAAAA[\w-]+={0,2})\1"|qe1:(gAAAA[\w-]{80,}={0,2})')
_WHOLE = re.compile(rb'(?<!\\)"\\u0071e1:(?:gAAAA[\w-]{80,}={0,2}"|[\w=-]*\Z)')  # the scripts may cut it
_TEXT = re.compile(r"qe1:gAAAA(?:[\w-]{80,}={0,2}|[\w-]{20,}\Z)", re.ASCII)
_OF_ERROR = ("message", "traceback")
NO_KEY = "it is encrypted, and QUEUEOPS['ENCRYPTION'] lacks its key. Put the key back, and requeue what is quarantined."


class NoCryptography(QueueOpsError, ImportError):
    """QUEUEOPS['ENCRYPTION'] needs the package cryptography: pip install 'queueops[encryption]'."""


class BadKey(QueueOpsError, ValueError):
    """Key {number} of QUEUEOPS['ENCRYPTION'] is not a key of Fernet. Make one with Fernet.generate_key()."""

    number: int


class Keyring:
    """The keys of the setting. The first one seals, all of them open. With None in its place nothing is sealed."""

    def __init__(self, keys: Sequence[str | None]) -> None:
        """Raises NoCryptography and BadKey."""
        self.encrypts = keys[0] is not None
        self._fernet = _fernet_of(keys)
        self._first = _fernet_of(keys[:1]) if self.encrypts else None

    @overload
    def seal(self, data: bytes) -> bytes: ...
    @overload
    def seal(self, data: str) -> str: ...
    def seal(self, data: str | bytes) -> str | bytes:
        """JSON as a sealed value; nothing stays nothing."""
        if not data:
            return data
        if isinstance(data, str):
            return self.seal(data.encode("utf-8", "surrogatepass")).decode()
        return b'%b%b"' % (_HEAD, self._fernet.encrypt(data))

    @overload
    def seal_text(self, text: bytes) -> bytes: ...
    @overload
    def seal_text(self, text: str) -> str: ...
    def seal_text(self, text: str | bytes) -> str | bytes:
        """A text that is not JSON."""
        if not text:
            return text
        if isinstance(text, bytes):
            return self.seal_text(text.decode("utf-8", "replace")).encode()
        return f"qe1:{self._fernet.encrypt(json.dumps(text).encode()).decode()}"

    def seal_error(self, data: bytes) -> bytes:
        """A stored error, whose message and traceback are sealed."""
        try:
            error = msgspec.json.decode(data, type=dict[str, Any])
        except msgspec.MsgspecError:
            return self.seal_text(data)
        texts = {name: msgspec.json.encode(error[name]) for name in _OF_ERROR if isinstance(error.get(name), str)}
        return msgspec.json.encode(error | {name: msgspec.Raw(self.seal(text)) for name, text in texts.items()})

    def seal_line(self, data: bytes) -> bytes:
        """A line of a task's log, whose texts of the user are sealed."""
        try:
            line = msgspec.json.decode(data, type=dict[str, Any])
        except msgspec.MsgspecError:
            return data
        seals: dict[str, Callable[[str], str]] = {"error": self._seal_error_text, "was": self.seal}
        if line.get("k") == "log":
            seals["text"] = self.seal_text
        if line.get("verb") in ("edit", "retry") and line.get("value") != "-":  # the new arguments
            seals["value"] = self.seal
        return msgspec.json.encode(line | {name: seal(line[name]) for name, seal in seals.items() if line.get(name)})

    def _seal_error_text(self, text: str) -> str:
        return self.seal_error(text.encode()).decode()

    @overload
    def seal_title(self, title: bytes) -> bytes: ...
    @overload
    def seal_title(self, title: str) -> str: ...
    def seal_title(self, title: str | bytes) -> str | bytes:
        """The title of an error, `type: message`, whose message is sealed."""
        if isinstance(title, bytes):
            return self.seal_title(title.decode("utf-8", "replace")).encode()
        kind, colon, message = title.partition(": ")
        return kind + colon + self.seal_text(message)

    def open(self, reply: Any) -> Any:
        """A reply of the store with opened values. What no key opens stays, and a reader refuses it."""
        if isinstance(reply, bytes):
            return self._opened(reply) if MARK in reply else reply
        if isinstance(reply, dict):  # as fakeredis replies
            return {name: self.open(value) for name, value in reply.items()}
        return [self.open(each) for each in reply] if isinstance(reply, list) else reply

    def renew(self, data: bytes, count: Counter[str]) -> bytes:
        """The same with each sealed value under the first key; counts `current`, `old` and `unknown` keys of them.

        If nothing is sealed, it opens what it can.
        """

        def renewed(found: re.Match[bytes]) -> bytes:
            token: bytes = found[2] or found[3]
            age = self._age(token)
            count[age] += 1
            return found[0].replace(token, self._fernet.rotate(token)) if self.encrypts and age == "old" else found[0]

        if MARK not in data:
            return data
        same = _TOKEN.sub(renewed, data)
        return same if self.encrypts else self._opened(data)

    def _age(self, token: bytes) -> str:
        if self._first is not None and _decrypted(self._first, token) is not None:
            return "current"
        return "unknown" if _decrypted(self._fernet, token) is None else "old"

    def _opened(self, data: bytes) -> bytes:
        is_json = data[:1] in (b"{", b"[", b'"')

        def plain_of(found: re.Match[bytes]) -> bytes:
            quoted, token = found[2], found[2] or found[3]
            plain = _decrypted(self._fernet, token)
            if plain is None:
                return found[0]
            if quoted:
                return _escaped(plain, (len(found[1]) + 1).bit_length() - 1)
            text = _text_in(plain)
            return found[0] if text is None else _escaped(text, 1) if is_json else text

        return _TOKEN.sub(plain_of, data)


class NoKeyring(Keyring):
    """The setting without a key: opens nothing, and counts what is sealed."""

    encrypts = False

    def __init__(self) -> None:
        """It has no key."""

    def renew(self, data: bytes, count: Counter[str]) -> bytes:
        """The same data."""
        count["unknown"] += len(_TOKEN.findall(data))
        return data


def _decrypted(fernet: MultiFernet, token: bytes) -> bytes | None:
    from cryptography.fernet import InvalidToken

    try:
        return fernet.decrypt(token)
    except InvalidToken:
        return None


def _text_in(plain: bytes) -> bytes | None:
    """The text of a value that `seal_text` made. None for another one, which was put in its place in the store."""
    try:
        text = json.loads(plain)
    except ValueError:
        return None
    return text.encode("utf-8", "surrogatepass") if isinstance(text, str) else None


def _fernet_of(keys: Sequence[str | None]) -> MultiFernet:
    try:
        from cryptography.fernet import Fernet, MultiFernet
    except ImportError as error:
        raise NoCryptography from error
    made = []
    for number, key in enumerate(keys, start=1):
        if key is None:
            continue
        try:
            made.append(Fernet(key))
        except ValueError:
            raise BadKey(number=number) from None  # its cause may quote the key
    return MultiFernet(made)


def _escaped(data: bytes, times: int) -> bytes:
    """The inside of a string of JSON, so many times."""
    for _ in range(times):
        data = json.dumps(data.decode("utf-8", "surrogatepass"), ensure_ascii=False)[1:-1].encode(
            "utf-8", "surrogatepass"
        )
    return data


@lru_cache(maxsize=8)
def keyring(keys: tuple[str | None, ...]) -> Keyring | None:
    """The keyring of the setting; None without a key."""
    return Keyring(keys) if any(keys) else None


def ids_of(keys: Sequence[str | None]) -> tuple[str, ...]:
    """A short digest of each key, to compare the keys of processes; `clear` for None."""
    return tuple(CLEAR if key is None else sha256(key.encode()).hexdigest()[:8] for key in keys)


def refuse_sealed(what: str, name: str, data: bytes) -> None:
    """Raise NotDecodable if a value that a task or a caller is about to get is still sealed."""
    if _BACKSLASH in data and _WHOLE.search(data):
        raise NotDecodable(what=what, name=name, reason=NO_KEY)


def is_sealed(data: bytes) -> bool:
    """Whether data has a sealed value in it, under whatever key."""
    return MARK in data and _TOKEN.search(data) is not None


def without_sealed(data: bytes) -> bytes:
    """JSON to show, without what no key opens."""
    return _WHOLE.sub(b'"%b"' % CLOSED.encode(), data) if _HEAD in data else data


def without_tokens(text: str) -> str:
    """A text to show, without what no key opens."""
    return _TEXT.sub(CLOSED, text) if "qe1:gAAAA" in text else text
