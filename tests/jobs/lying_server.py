"""A server of files that lies: each answer is wrong in the ways that its `Lie` says, and an honest one follows."""

from __future__ import annotations

import gzip
import random
from dataclasses import dataclass, field
from email.utils import formatdate
from typing import Literal

from tests.jobs.servers import Exchange

OLD, NOW = formatdate(1e9, usegmt=True), formatdate(2e9, usegmt=True)
Validator = Literal["strong", "weak", "changed", "changed now", "none"]
"""What a server sends to tell versions apart. The last three tell too little, or a time that two versions can have."""


@dataclass(frozen=True, kw_only=True)
class Lie:
    """An answer. Its defaults are the truth."""

    version: int = 0  # of the file: from now on
    status: int = 0  # without a file, such as 416 and 503
    heeds_range: bool = True
    heeds_if_range: bool = True
    has_validator: bool = True  # in a part
    has_content_range: bool = True
    is_multipart: bool = False
    is_part: bool = False  # also if the whole was asked for
    as_whole: bool = False  # says 200 with a part
    most: int = 1_000_000  # bytes in a part
    shift: int = 0  # of the beginning of a part
    total: int = 0  # is told so much larger; only for what continues something
    any_total: bool = False  # says "*"
    excess: int = 0  # bytes more than the Content-Range says, or less
    frame: Literal["length", "chunks", "padded chunks", "end"] = "length"
    length: int = 0  # is told so much larger
    packed: int = 0  # members of gzip; for the whole
    packed_twice: bool = False
    packed_part: bool = False  # a part says that it is packed
    informs: bool = False
    sent: float = 1.0  # of the answer, with its head


def version(number: int, size: int) -> bytes:
    """The content of a version of the file."""
    return bytes([number]) + random.Random(number).randbytes(size - 1)


@dataclass
class LyingServer:
    """The route of a file."""

    validator: Validator
    size: int
    lies: list[Lie]
    ranges: list[str | None] = field(default_factory=list)
    version: int = 0
    more: dict[str, str] = field(default_factory=dict)  # headers of every answer with a file

    def whole(self, number: int) -> bytes:
        """A version of the file; each has the same size."""
        return version(number, self.size)

    def __call__(self, exchange: Exchange) -> None:
        """Send the next answer, and hang up."""
        lie = self.lies.pop(0) if self.lies else Lie(version=self.version)
        self.version = lie.version
        asked = exchange.headers.get("Range")
        self.ranges.append(asked)
        raw = self._answer(lie, asked, exchange.headers.get("If-Range", ""))
        exchange.wfile.write(raw[: round(len(raw) * lie.sent)])
        exchange.close_connection = True

    def _answer(self, lie: Lie, asked: str | None, if_range: str) -> bytes:
        if lie.status:
            return f"HTTP/1.1 {lie.status} No\r\nContent-Length: 0\r\n\r\n".encode()
        known = self._validators(lie.version) | self.more
        is_asked = asked and lie.heeds_range and (not lie.heeds_if_range or if_range in known.values())
        first = int(asked[6:-1]) if asked and is_asked else 0
        if first >= self.size:
            return b"HTTP/1.1 416 No\r\nContent-Length: 0\r\n\r\n"
        if is_asked or lie.is_part:
            return self._part(lie, first, known)
        return self._whole(lie, known)

    def _validators(self, number: int) -> dict[str, str]:
        match self.validator:
            case "strong":
                return {"ETag": f'"{number}"'}
            case "weak":
                return {"ETag": f'W/"{number}"'}
            case "changed":
                return {"Last-Modified": formatdate(1e9 + number, usegmt=True), "Date": NOW}
            case "changed now":
                return {"Last-Modified": NOW, "Date": NOW}
        return {}

    def _part(self, lie: Lie, first: int, known: dict[str, str]) -> bytes:
        begin = max(first + lie.shift, 0) if first else 0
        end = min(begin + lie.most, self.size)
        total = "*" if lie.any_total else str(self.size + (lie.total if first else 0))
        headers = known if lie.has_validator else {}
        if lie.has_content_range:
            headers = headers | {"Content-Range": f"bytes {begin}-{end - 1}/{total}"}
        if lie.is_multipart:
            headers = headers | {"Content-Type": "multipart/byteranges; boundary=x"}
        if lie.packed_part:
            headers = headers | {"Content-Encoding": "gzip"}
        body = (self.whole(lie.version) + bytes(100))[begin : max(end + lie.excess, begin)]
        return _raw(lie, 200 if lie.as_whole else 206, headers, body)

    def _whole(self, lie: Lie, known: dict[str, str]) -> bytes:
        body, headers = self.whole(lie.version), known
        if lie.packed:
            step = -(-len(body) // lie.packed)
            body = b"".join(gzip.compress(body[at : at + step], 1) for at in range(0, len(body), step))
            headers = headers | {"Content-Encoding": "gzip, gzip" if lie.packed_twice else "gzip"}
        return _raw(lie, 200, headers, body)


def _raw(lie: Lie, status: int, headers: dict[str, str], body: bytes) -> bytes:
    match lie.frame:
        case "length":
            headers = headers | {"Content-Length": str(len(body) + lie.length)}
        case "chunks" | "padded chunks":
            headers = headers | {"Transfer-Encoding": "chunked"}
            size = "%x\r\n" if lie.frame == "chunks" else "%08x\r\n"
            pieces = [body[at : at + 700] for at in range(0, len(body), 700)]
            body = b"".join((size % len(each)).encode() + each + b"\r\n" for each in pieces) + b"0\r\n\r\n"
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    informs = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" if lie.informs else ""
    return f"{informs}HTTP/1.1 {status} OK\r\n{lines}\r\n".encode() + body
