"""Pictures without a library: the pixels of a text, half its size, and the PNG format."""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass

WIDTH, HEIGHT = 128, 192
PAPER, INK, NUMBER, SIGN, COMMENT = b"\xfb\xfb\xfd", b"\x1f\x4e\x8c", b"\xc2\x41\x0c", b"\x64\x74\x8b", b"\x2f\x9e\x44"


@dataclass(frozen=True, slots=True)
class Picture:
    """Pixels in rows from the top, three bytes each."""

    width: int
    height: int
    pixels: bytes

    def half(self) -> Picture:
        """Half as wide and high: each new pixel is the mean of four."""
        width, height, row, old = self.width // 2, self.height // 2, self.width * 3, self.pixels
        new = bytearray()
        for top in range(0, height * 2 * row, 2 * row):
            for left in range(top, top + width * 6, 6):
                for at in (left, left + 1, left + 2):
                    new.append((old[at] + old[at + 3] + old[at + row] + old[at + row + 3]) // 4)
        return Picture(width, height, bytes(new))

    def png(self) -> bytes:
        """The picture as a PNG file."""
        row = self.width * 3
        lines = b"".join(b"\0" + self.pixels[at : at + row] for at in range(0, len(self.pixels), row))
        header = struct.pack(">IIBBBBB", self.width, self.height, 8, 2, 0, 0, 0)
        parts = (b"IHDR", header), (b"IDAT", zlib.compress(lines, 9)), (b"IEND", b"")
        return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(name, data) for name, data in parts)


def draw(text: str) -> Picture:
    """A source text from far away: one pixel a letter."""
    lines = [line.expandtabs(4)[:WIDTH] for line in text.splitlines()[:HEIGHT]]
    rows = [b"".join(_pixels(line)) + PAPER * (WIDTH - len(line)) for line in lines]
    return Picture(WIDTH, HEIGHT, b"".join(rows) + PAPER * WIDTH * (HEIGHT - len(rows)))


def _pixels(line: str) -> list[bytes]:
    if line.lstrip().startswith("#"):
        return [PAPER if letter == " " else COMMENT for letter in line]
    return [_pixel(letter) for letter in line]


def _pixel(letter: str) -> bytes:
    if letter == " ":
        return PAPER
    if letter.isdigit():
        return NUMBER
    return INK if letter.isalpha() else SIGN


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
