"""MIME types: what the first bytes of a file are, and whether a job's patterns allow it.

Patterns are a list with commas. Each is a glob in which `*` does not cross the slash, and `!` before it negates it. A
file is allowed if one of the plain patterns matches, or there is none, and no negated one does.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from queueops.errors import BadOption

HEAD = 2048
"""Bytes that decide. A shorter file is decided by all that it has."""
EMPTY, UNKNOWN = "application/x-empty", "application/octet-stream"
ALIASES = {"application/x-gzip": "application/gzip", "image/x-ms-bmp": "image/bmp", "audio/x-wav": "audio/wav"}
"""Names of puremagic for which there is a registered one."""
CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
TEXTS = (
    (re.compile(r"%PDF-"), "application/pdf"),
    (re.compile(r"%!PS"), "application/postscript"),
    (re.compile(r"\{\\rtf"), "text/rtf"),
    (re.compile(r"\s*(?:<!--.*?-->\s*)*<(?:!doctype html|html|head|body)\b", re.IGNORECASE | re.DOTALL), "text/html"),
    (re.compile(r"\s*(?:<\?xml.*?\?>\s*)?(?:<!--.*?-->\s*|<!doctype svg.*?>\s*)*<svg\b", re.I | re.S), "image/svg+xml"),
    (re.compile(r"\s*<\?xml\b"), "text/xml"),
)
ZIPPED = (
    (b"word/", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
    (b"xl/", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
    (b"ppt/", "application/vnd.openxmlformats-officedocument.presentationml.presentation"),
)
ITEM = re.compile(r"!?(?:[A-Za-z0-9.+_*?/-]|\[!?[A-Za-z0-9.+_-]+\])+")
PARTS = re.compile(r"(?:\*|[^/]+/[^/]+)")
"""A type and a subtype. The older downloader's clients send `*` for both."""
LONGEST = 1000  # characters of all patterns


@dataclass(frozen=True, slots=True)
class MimePatterns:
    """The patterns of a job, ready to match."""

    wanted: tuple[tuple[str, re.Pattern[str]], ...]
    refused: tuple[tuple[str, re.Pattern[str]], ...]

    @classmethod
    def read(cls, text: str) -> MimePatterns:
        """The patterns of a text. An empty text allows every file.

        Raises BadOption for a text that cannot be read, and for a pattern without type and subtype: it matches no file.
        """
        if len(text) > LONGEST:
            raise BadOption(name="mime_type", value=text, expected=f"a text of at most {LONGEST:,} characters")
        items = [item.strip() for item in text.split(",")] if text.strip() else []
        for item in items:
            if not ITEM.fullmatch(item):
                raise BadOption(name="mime_type", value=text, expected='patterns such as "image/*,!image/gif"')
            if not PARTS.fullmatch(item.removeprefix("!")):
                instead = f'patterns of a type and a subtype: "{_whole(item)}" instead of "{item}"'
                raise BadOption(name="mime_type", value=text, expected=instead)
        wanted = tuple((item, _glob(item)) for item in items if not item.startswith("!"))
        return cls(wanted, tuple((item[1:], _glob(item[1:])) for item in items if item.startswith("!")))

    def fault_of(self, mime_type: str) -> str:
        """Why a file of this type is not allowed; empty if it is."""
        for name, pattern in self.refused:
            if pattern.fullmatch(mime_type):
                return f"Expected mime-type not to be ({name}), found ({mime_type})."
        if self.wanted and not any(pattern.fullmatch(mime_type) for _, pattern in self.wanted):
            return f"Expected mime-type to be ({', '.join(name for name, _ in self.wanted)}), found ({mime_type})."
        return ""


def mime_type_of(head: bytes, *, is_whole: bool = False) -> str:
    """The type of a file by its first bytes. `is_whole` says that there are no more."""
    if not head:
        return EMPTY
    text = _as_text(head, is_whole=is_whole)
    if text is not None:
        return _type_of_text(text, is_whole=is_whole)
    return _type_of_zip(head) if head.startswith(b"PK\x03\x04") else _type_of_bytes(head)


def _as_text(head: bytes, *, is_whole: bool) -> str | None:
    """The text of the bytes; None if they are no text in UTF-8. The last character may be cut."""
    if CONTROL.search(head):
        return None
    try:
        return head.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        is_cut = not is_whole and error.reason == "unexpected end of data"
        return head[: error.start].decode("utf-8-sig") if is_cut else None


def _type_of_text(text: str, *, is_whole: bool) -> str:
    for pattern, name in TEXTS:
        if pattern.match(text):
            return name
    if is_whole and text.lstrip()[:1] in ("{", "["):
        try:
            json.loads(text)
        except (ValueError, RecursionError):
            return "text/plain"
        return "application/json"
    return "text/plain"


def _type_of_zip(head: bytes) -> str:
    """A ZIP archive, or a document that is one: its first entries have names that tell."""
    if head[30:38] == b"mimetype":
        found = re.match(rb"[\w.+/-]{3,100}", head[38:])
        return found[0].decode().partition("PK")[0] if found else "application/zip"
    if b"[Content_Types].xml" in head or b"_rels/" in head:
        return next((name for mark, name in ZIPPED if mark in head), "application/zip")
    return "application/zip"


def _type_of_bytes(head: bytes) -> str:
    import puremagic  # reads its table of signatures: some milliseconds

    try:
        found = puremagic.magic_string(head)
    except (puremagic.PureError, ValueError):
        return UNKNOWN
    names = (match.mime_type for match in found if match.mime_type)
    name = next(names, UNKNOWN)
    return ALIASES.get(name, name)


def _whole(item: str) -> str:
    """The pattern of a type and a subtype that is nearest to one without them."""
    kind, _, rest = item.removeprefix("!").partition("/")
    return f"{'!' * item.startswith('!')}{kind or '*'}/{rest.partition('/')[0] or '*'}"


def _glob(pattern: str) -> re.Pattern[str]:
    written = "".join(
        {"*": "[^/]*", "?": "[^/]"}.get(part, f"[^{part[2:]}" if part.startswith("[!") else part)
        if part[0] in "*?["
        else re.escape(part)
        for part in re.findall(r"\[!?[^\]]+\]|.", pattern)
    )
    return re.compile(written, re.IGNORECASE)
