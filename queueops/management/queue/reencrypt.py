"""Rotation of the keys of the encryption in a terminal."""

from __future__ import annotations

from argparse import ArgumentParser
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from django.core.management import CommandError

from queueops import conf, control
from queueops.inspect.alarm import manage
from queueops.inspect.alarms import places
from queueops.inspect.key_alarms import NOTED_S, OtherKeys, with_other_key
from queueops.inspect.store import open_reader
from queueops.management.queue import audit
from queueops.management.queue.formatting import printable, to_json
from queueops.management.queue.kind_commands import KindCommand
from queueops.management.queue.lookup import check_pool

PASSES = 3
"""How often a pool is walked at most: a value that was moved meanwhile is found by the next walk."""
TOLD = 10_000
"""After so many keys of the store, or rows, a line tells how far the walk is."""
TABLES = "tables of the databases"
Walk = Callable[..., Iterator[Counter[str]]]
COUNTS = ("keys", "rows", "current", "old", "clear", "unknown", "changed")


def reencrypt(*, pool: str, dry_run: bool, as_json: bool, **_: Any) -> Iterator[str]:
    """Put all values under the first key, or decrypt them if the setting begins with None.

    Fails if a value is left, or if another process has another first key. If it encrypts, nothing is decrypted.
    """
    if pool:
        check_pool(pool)
    others = with_other_key()
    if any(others) and not (dry_run or conf.keyring()):
        raise CommandError(f"{_told_of(others)} Set [None, key] in all processes before. Nothing was decrypted.")
    pools = [pool] if pool else open_reader().pools()
    walks: dict[str, Walk] = {name: partial(control.reencrypt, name) for name in pools}
    if not pool and not conf.store_name():  # they are the project's
        walks[TABLES] = control.reencrypt_tables
    total: Counter[str] = Counter()
    for name, walk in walks.items():
        found: Counter[str] = Counter()
        for line in _once(name, walk, found, dry_run=True) if dry_run else _recorded(name, walk, found):
            if not as_json:
                yield line
        total += found
    yield to_json({each: total[each] for each in COUNTS}) if as_json else _summary(total, pool, others)
    if total["old"] or total["clear"] or total["unknown"] or any(others):
        raise SystemExit(1)


def _recorded(name: str, walk: Walk, found: Counter[str]) -> Iterator[str]:
    with audit.recorded(verb="reencrypt", target=name, pool="" if walk is control.reencrypt_tables else name) as act:
        yield from _until_done(name, walk, found)
        act.changed, act.after = found["changed"], {each: found[each] for each in COUNTS}


def _until_done(name: str, walk: Walk, found: Counter[str]) -> Iterator[str]:
    """Walks until one finds nothing to do. What they changed is added up; the rest is what the last one saw."""
    for _ in range(PASSES):
        changed = found["changed"]
        found.clear()
        yield from _once(name, walk, found, dry_run=False)
        done = not found["old"] and not found["clear"]
        found["changed"] += changed
        if done:
            return


def _once(name: str, walk: Walk, found: Counter[str], *, dry_run: bool) -> Iterator[str]:
    told = 0
    for count in walk(dry_run=dry_run):
        found.update(count)
        if (read := found["keys"] + found["rows"]) // TOLD > told:
            told = read // TOLD
            yield f"{printable(name)}: {read:,} read, {found['changed']:,} values {_done()}."


def _done() -> str:
    return "encrypted anew" if conf.keyring() else "decrypted"


def _told_of(others: OtherKeys) -> str:
    does, do = ("has another first key", "have another first key") if conf.keyring() else ("encrypts", "encrypt")
    workers, told = others.workers, []
    if workers:
        told.append(f"{f'1 worker {does}' if len(workers) == 1 else f'{len(workers)} workers {do}'}{places(workers)}.")
    if others.beside:
        told.append(f"A process beside these workers, such as a web process, {does}, or did within {NOTED_S:g} s.")
    return " ".join(told)


def _summary(found: Counter[str], pool: str, others: OtherKeys) -> str:
    lines = [
        f"{found['changed']:,} values were {_done()}. Now there are, in {found['keys']:,} keys of the store and"
        f" {found['rows']:,} rows of the databases:",
        f"  {found['current']:,} values under the first key",
        f"  {found['old']:,} values under another key of the setting",
        f"  {found['clear']:,} values in clear",
        f"  {found['unknown']:,} values that no key opens",
        _advice(found, pool, others),
    ]
    return "\n".join(lines)


def _advice(found: Counter[str], pool: str, others: OtherKeys) -> str:
    again = f"`{manage('queue', 'reencrypt')}`"
    if found["old"] or found["clear"]:
        return f"Keep all keys. {again} {'encrypts' if conf.keyring() else 'decrypts'} the rest."
    if found["unknown"]:
        return f"{found['unknown']:,} values need a key that is missing. Put it back as the last one, then {again}."
    if any(others):
        return f"{_told_of(others)} Keep all keys. When all processes have this setting, start {again} once more."
    if pool:
        return (
            f"Other pools, and tables of the databases, may have more values. Keep all keys, until {again} has ended."
        )
    if not conf.keyring():
        return "No value needs a key: the setting may be removed."
    return "No value needs another key than the first: the others may leave the setting."


def _options(parser: ArgumentParser) -> None:
    parser.add_argument("--pool", default="", help="only this pool (default: all pools)")
    parser.add_argument("--dry-run", action="store_true", help="count only, and change nothing")


COMMANDS = (
    KindCommand(
        name="reencrypt",
        run=reencrypt,
        text="put all encrypted values under the first key of the setting, or decrypt them if it is None",
        add_options=_options,
    ),
)
