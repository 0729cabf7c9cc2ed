"""Rotation of the keys of the encryption in a terminal."""

from __future__ import annotations

from argparse import ArgumentParser
from collections import Counter
from collections.abc import Iterator
from typing import Any

from queueops import control
from queueops.inspect.store import open_reader
from queueops.management.queue import audit
from queueops.management.queue.formatting import printable, to_json
from queueops.management.queue.kind_commands import KindCommand
from queueops.management.queue.lookup import check_pool

PASSES = 3
"""How often a pool is walked at most: a value that was moved meanwhile is found by the next walk."""
TOLD = 10_000
"""After so many keys of the store a line tells how far the walk is."""
COUNTS = ("keys", "current", "old", "clear", "unknown", "changed")


def reencrypt(*, pool: str, dry_run: bool, as_json: bool, **_: Any) -> Iterator[str]:
    """Put all values under the first key. Fails at its end if a value under another key, or in clear, is left."""
    if pool:
        check_pool(pool)
    total: Counter[str] = Counter()
    for name in [pool] if pool else open_reader().pools():
        found: Counter[str] = Counter()
        for line in _walk(name, found, dry_run=True) if dry_run else _recorded(name, found):
            if not as_json:
                yield line
        total += found
    yield to_json({each: total[each] for each in COUNTS}) if as_json else _summary(total)
    if total["old"] or total["clear"]:
        raise SystemExit(1)


def _recorded(pool: str, found: Counter[str]) -> Iterator[str]:
    with audit.recorded(verb="reencrypt", target=pool, pool=pool) as act:
        yield from _until_done(pool, found)
        act.changed, act.after = found["changed"], {each: found[each] for each in COUNTS}


def _until_done(pool: str, found: Counter[str]) -> Iterator[str]:
    """Walks until one finds nothing to do. What they changed is added up; the rest is what the last one saw."""
    for _ in range(PASSES):
        changed = found["changed"]
        found.clear()
        yield from _walk(pool, found, dry_run=False)
        done = not found["old"] and not found["clear"]
        found["changed"] += changed
        if done:
            return


def _walk(pool: str, found: Counter[str], *, dry_run: bool) -> Iterator[str]:
    for count in control.reencrypt(pool, dry_run=dry_run):
        before = found["keys"] // TOLD
        found.update(count)
        if found["keys"] // TOLD > before:
            yield f"{printable(pool)}: {found['keys']:,} keys read, {found['changed']:,} values encrypted anew."


def _summary(found: Counter[str]) -> str:
    lines = [
        f"{found['changed']:,} values were encrypted anew. Now there are, among {found['keys']:,} keys of the store:",
        f"  {found['current']:,} values under the first key",
        f"  {found['old']:,} values under another key of the setting",
        f"  {found['clear']:,} values in clear",
        f"  {found['unknown']:,} values that no key opens",
    ]
    if found["old"] or found["clear"]:
        lines.append("Keep all keys. `manage.py queue reencrypt` encrypts the rest.")
    else:
        lines.append("No value needs another key than the first: the others may leave the setting.")
    return "\n".join(lines)


def _options(parser: ArgumentParser) -> None:
    parser.add_argument("--pool", default="", help="only this pool (default: all pools)")
    parser.add_argument("--dry-run", action="store_true", help="count only, and change nothing")


COMMANDS = (
    KindCommand(
        name="reencrypt",
        run=reencrypt,
        text="put all encrypted values under the first key of the setting; --dry-run counts them",
        add_options=_options,
    ),
)
