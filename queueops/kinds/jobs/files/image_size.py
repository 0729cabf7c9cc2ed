"""Image size: width and height of a JPEG, PNG, GIF or WebP file, read from its headers."""

from __future__ import annotations

import struct
from typing import BinaryIO

STANDALONE = frozenset({0x01, *range(0xD0, 0xD9)})
"""Markers of JPEG without a length."""
FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
"""Markers of JPEG that begin a frame, which has the size."""
MOST_MARKERS = 10_000


class BadImage(ValueError):
    """The file begins as an image, and has no size that can be read."""


def image_size(file: BinaryIO, mime_type: str) -> str:
    """The size as "640x480"; empty for any other type. Raises BadImage."""
    reader = READERS.get(mime_type)
    if reader is None:
        return ""
    file.seek(0)
    try:
        width, height = reader(file)
    except struct.error:
        raise BadImage("The image ends before its size.") from None
    if not width or not height:
        raise BadImage(f"The image has the size {width}x{height}.")
    return f"{width}x{height}"


def _png(file: BinaryIO) -> tuple[int, int]:
    head = file.read(24)
    if head[12:16] != b"IHDR":
        raise BadImage("The image has no header.")
    return _unpacked(">II", head[16:24])


def _gif(file: BinaryIO) -> tuple[int, int]:
    return _unpacked("<HH", file.read(10)[6:10])


def _webp(file: BinaryIO) -> tuple[int, int]:
    head = file.read(30)
    chunk = head[12:16]
    if chunk == b"VP8X":
        width, height = int.from_bytes(head[24:27], "little") + 1, int.from_bytes(head[27:30], "little") + 1
        if len(head) < 30:
            raise BadImage("The image ends before its size.")
        return width, height
    if chunk == b"VP8L":
        (bits,) = struct.unpack("<I", head[21:25])
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if chunk == b"VP8 " and head[23:26] == b"\x9d\x01\x2a":
        width, height = _unpacked("<HH", head[26:30])
        return width & 0x3FFF, height & 0x3FFF
    raise BadImage("The image has no frame.")


def _jpeg(file: BinaryIO) -> tuple[int, int]:
    file.seek(2)
    for _ in range(MOST_MARKERS):
        marker = _next_marker(file)
        if marker in STANDALONE:
            continue
        (length,) = struct.unpack(">H", file.read(2))
        if marker in FRAMES:
            _, height, width = struct.unpack(">BHH", file.read(5))
            return width, height
        if length < 2:
            break
        file.seek(length - 2, 1)
    raise BadImage("The image has no frame.")


def _next_marker(file: BinaryIO) -> int:
    """The code of the next marker. Bytes of filling may stand before it."""
    (sign, code) = struct.unpack("BB", file.read(2))
    if sign != 0xFF:
        raise BadImage("The image has no frame.")
    for _ in range(MOST_MARKERS):
        if code != 0xFF:
            break
        (code,) = struct.unpack("B", file.read(1))
    found: int = code
    return found


def _unpacked(layout: str, data: bytes) -> tuple[int, int]:
    width, height = struct.unpack(layout, data)
    return width, height


READERS = {"image/png": _png, "image/gif": _gif, "image/webp": _webp, "image/jpeg": _jpeg}
