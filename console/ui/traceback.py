"""Traceback groups: frames of the application are open, runs of library frames are folded."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby

import msgspec

FRAME = re.compile(r'^\s+File "(?P<path>[^"]*)", line \d+')
LIBRARY = re.compile(r"[/\\](site-packages|dist-packages|lib[/\\]python3[^/\\]*)[/\\]|[/\\]queueops[/\\]|^<frozen ")


class Group(msgspec.Struct, frozen=True):
    """Consecutive lines; `frames` counts the library frames, and is 0 for the application's lines."""

    text: str
    frames: int = 0


def grouped(text: str) -> list[Group]:
    """The groups, in the order of the text; all lines are kept."""
    groups = []
    for library, blocks in groupby(_blocks(text.splitlines()), key=lambda block: block[0]):
        lines = [block[1] for block in blocks]
        groups.append(Group("\n".join(lines), len(lines) if library else 0))
    return groups


def _blocks(lines: list[str]) -> Iterator[tuple[bool, str]]:
    """Each frame with its source lines, or a line outside of frames; and whether it is a library's."""
    block: list[str] = []
    library = False
    for line in lines:
        found = FRAME.match(line)
        if block and (found or not line.startswith("    ")):
            yield library, "\n".join(block)
            block = []
        if found:
            block, library = [line], bool(LIBRARY.search(found["path"]))
        elif block:
            block.append(line)
        else:
            yield False, line
    if block:
        yield library, "\n".join(block)
