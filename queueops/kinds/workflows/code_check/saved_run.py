"""Saved run: what a replay needs of a run, in one JSON file, so that a check needs no store."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path

import msgspec

from queueops.errors.workflows import BadHistoryFile
from queueops.kinds.workflows.replay.step import RunInfo
from queueops.kinds.workflows.store.payloads import Load, filled
from queueops.kinds.workflows.store.run_store import HISTORY_PAGE, RunRow, RunStore

ENDING = ".json"


class SavedRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run with its history. Its entries have no payloads if ``load`` gives them."""

    run: str
    name: str
    pool: str
    instance: str
    history: Sequence[msgspec.Raw]
    parent: str = ""
    origin: str = ""
    root: str = ""
    arguments: str = ""
    meta: str = ""

    @property
    def info(self) -> RunInfo:
        """What the code may know of its run."""
        return RunInfo(
            id=self.run,
            name=self.name,
            instance=self.instance,
            pool=self.pool,
            parent=self.parent,
            length=len(self.history),
            origin=self.origin or self.run,
        )

    def texts(self, load: Load) -> Iterator[bytes]:
        """The entries of its history. Raises PayloadLost."""
        return filled(map(bytes, self.history), load)


def saved(store: RunStore, pool: str, run: str, row: RunRow) -> SavedRun:
    """A run of the store, whose large payloads are not read."""
    fields = row.fields
    return SavedRun(
        run=run,
        name=fields.get("n", ""),
        pool=pool,
        instance=fields.get("vi", run),
        history=[msgspec.Raw(text) for text in _history(store, pool, run)],
        parent=fields.get("vr", ""),
        origin=fields.get("vo", run),
        root=fields.get("ro", ""),
        arguments=fields.get("a", ""),
        meta=fields.get("me", ""),
    )


def exported(store: RunStore, pool: str, run: str) -> str | None:
    """A run as a file has it, with all its payloads; None if there is no such run. Raises PayloadLost."""
    row = store.run_row(pool, run)
    if row is None:
        return None
    found = saved(store, pool, run, row)
    texts = found.texts(partial(store.payloads, pool, run))
    whole = msgspec.structs.replace(found, history=[msgspec.Raw(text) for text in texts])
    return msgspec.json.format(msgspec.json.encode(whole), indent=1).decode()


def read_all(directory: Path) -> Iterable[SavedRun]:
    """The runs of the files of a directory, in the order of their names. Raises BadHistoryFile."""
    paths = sorted(directory.glob(f"*{ENDING}")) if directory.is_dir() else []
    if not paths:
        raise BadHistoryFile(path=str(directory / f"*{ENDING}"), reason="there is none")
    return map(_read, paths)


def _read(path: Path) -> SavedRun:
    try:
        return _decode(path.read_bytes())
    except (OSError, msgspec.MsgspecError) as error:
        raise BadHistoryFile(path=str(path), reason=str(error)) from error


_decode: Callable[[bytes], SavedRun] = msgspec.json.Decoder(SavedRun).decode


def _history(store: RunStore, pool: str, run: str) -> list[bytes]:
    found: list[bytes] = []
    while page := store.history(pool, run, len(found)):
        found += page
        if len(page) < HISTORY_PAGE:
            break
    return found
