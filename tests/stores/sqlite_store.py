"""Example store: plain tasks in one SQLite file. `QUEUEOPS = {"STORE": "...SqliteStore", "URL": "/path/to/file"}`.

Each NAMESPACE has a file of its own, whose name ends with it.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec

from queueops.conf import Settings
from queueops.errors import BadSetting, BrokerUnavailable
from queueops.errors.leases import LeaseLost
from queueops.model.contracts import Exchange, LeaseRef, Outcome, Push, Pushed, RoundTrip, Row, Settlement
from queueops.model.records import Record
from queueops.model.states import State
from queueops.stores import PlainStore, rules

SCHEMA = """
CREATE TABLE IF NOT EXISTS task (
    pool TEXT, id TEXT, state TEXT, worker TEXT, priority INTEGER, place INTEGER, moment INTEGER, lane TEXT, kind TEXT,
    data BLOB, PRIMARY KEY (pool, id)
);
CREATE INDEX IF NOT EXISTS ready ON task (pool, state, priority DESC, place);
CREATE INDEX IF NOT EXISTS agenda ON task (pool, moment) WHERE moment IS NOT NULL;
CREATE TABLE IF NOT EXISTS log (pool TEXT, id TEXT, number INTEGER PRIMARY KEY, line BLOB);
CREATE INDEX IF NOT EXISTS lines ON log (pool, id, number);
CREATE TABLE IF NOT EXISTS number (last INTEGER);
INSERT INTO number SELECT 0 WHERE NOT EXISTS (SELECT 1 FROM number);
"""
LINES = 100
POLL_MS = 100
BATCH = 100


class SqliteStore(PlainStore):
    """Each call is one transaction. Workers find new tasks by polling, because SQLite tells of nothing."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        if not settings.url:  # SQLite would open a file of this connection alone
            raise BadSetting(place="QUEUEOPS['URL']", value="''", expected="the path of a file")
        self._here = threading.local()

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        db = None
        try:
            db = self._connection()
            db.execute("BEGIN IMMEDIATE")
            yield db
            db.execute("COMMIT")
        except sqlite3.Error as error:
            raise BrokerUnavailable(url=self.settings.url, attempts=1, reason=str(error)) from error
        finally:
            if db is not None and db.in_transaction:
                db.execute("ROLLBACK")

    def _connection(self) -> sqlite3.Connection:
        """The connection of this thread and process to the file. It is closed after the end of the thread."""
        here = self._here
        if getattr(here, "process", None) != os.getpid():
            file = f"{self.settings.url}.{self.settings.namespace}"
            here.db = sqlite3.connect(file, timeout=30, isolation_level=None, check_same_thread=False)
            weakref.finalize(threading.current_thread(), here.db.close).atexit = False
            here.db.execute("PRAGMA journal_mode = WAL")
            here.db.executescript(SCHEMA)
            here.db.create_function("serves", 2, lambda lane, kind: rules.serves(here.trip, lane, kind))
            here.process = os.getpid()
        found: sqlite3.Connection = here.db
        return found

    def close(self) -> None:
        """Close the connection of this thread."""
        if getattr(self._here, "process", None) == os.getpid():
            self._here.process = None
            self._here.db.close()

    # Producers

    def create(self, pushes: Sequence[Push], under: LeaseRef | None) -> list[Pushed]:
        with self._transaction() as db:
            if under is not None and rules.holds(_read(db, under.pool, under.id), under.fence) != "OK":
                raise LeaseLost(id=under.id, fence=under.fence)
            return [self._place(db, push) for push in pushes]

    def _place(self, db: sqlite3.Connection, push: Push) -> Pushed:
        record, pushed = rules.placed(_read(db, push.pool, push.id), push, _number(db), _now())
        if record is not None:
            db.execute("DELETE FROM log WHERE pool = ? AND id = ?", (record.pool, record.id))
            self._write(db, record)
        return pushed

    # Workers

    def exchange(self, pool: str, worker: str, trip: RoundTrip) -> Exchange:
        now = _now()
        reply = Exchange([], [], [], [], POLL_MS, False, now_ms=now)
        with self._transaction() as db:
            reply.settled = [self._settle(db, pool, end, now) for end in trip.settle]
            for each in trip.extend:
                record = _read(db, pool, each.id)
                if record is None or rules.holds(record, each.fence) != "OK":
                    reply.lost.append(each.id)
                    continue
                self._write(db, record, moment=rules.moment(record, self.settings, now, each))
                if record.cancel_requested:
                    reply.cancels.append((record.id, record.cancel_requested))
                    reply.hard += [record.id] if record.cancelled_hard else []
            self._do_what_is_due(db, pool, now)
            for record in self._ready(db, pool, trip):
                reply.leases.append(rules.claimed(record, worker, now, _number(db)))
                self._write(db, record)
        reply.ready = trip.want > 0 and len(reply.leases) == trip.want
        return reply

    def _settle(self, db: sqlite3.Connection, pool: str, end: Settlement, now: int) -> str:
        record = _read(db, pool, end.id)
        word = rules.holds(record, end.fence)
        if record is not None and word == "OK":
            self._write(db, record, rules.settled(record, end, self.settings, now))
        return word

    def _do_what_is_due(self, db: sqlite3.Connection, pool: str, now: int) -> None:
        """What the watchdog does on Redis: promote, take expired leases back, delete what is kept no longer."""
        due = db.execute("SELECT data FROM task WHERE pool = ? AND moment <= ? LIMIT ?", (pool, now, BATCH))
        for record in _records(due.fetchall()):
            if record.is_over:
                for table in ("task", "log"):
                    db.execute(f"DELETE FROM {table} WHERE pool = ? AND id = ?", (pool, record.id))
            else:
                self._write(db, record, rules.due(record, self.settings, now))

    def _ready(self, db: sqlite3.Connection, pool: str, trip: RoundTrip) -> list[Record]:
        self._here.trip = trip
        ready = "pool = ? AND state = ? AND serves(lane, kind) ORDER BY priority DESC, place LIMIT ?"
        found = db.execute(f"SELECT data FROM task WHERE {ready}", (pool, State.PENDING, trip.want))
        return _records(found.fetchall())

    def recover(
        self, pool: str, worker: str, running: Mapping[str, Settlement], keep: Collection[tuple[str, int]] = ()
    ) -> int:
        with self._transaction() as db:
            lost = [(id, fence) for id, fence, _ in _held(db, pool, worker) if (id, fence) not in keep]
            for id, fence in lost:
                end = running.get(id)
                judged = end is not None and end.fence == fence
                self._settle(db, pool, end if end and judged else Settlement(id, fence, Outcome.RELEASE), _now())
        return len(lost)

    def held(self, pool: str, worker: str) -> list[tuple[str, int, bool]]:
        with self._transaction() as db:
            return _held(db, pool, worker)

    def note(self, pool: str, task_id: str, fence: int, *, done: float | None = None, total: float | None = None,
             line: bytes = b"", number: int = 0) -> str:  # fmt: skip
        with self._transaction() as db:
            record = _read(db, pool, task_id)
            word = rules.holds(record, fence)
            if record is None or word != "OK":
                return "GONE" if word == "GONE" else "STALE"
            told = rules.noted(record, _now(), done=done, total=total, line=line, number=number)
            self._write(db, record, told, moved=False)
        return "OK"

    # Handles and operators

    def control(self, pool: str, verb: str, ids: Sequence[str], *, value: str | int = "", hard: bool = False,
                reason: str = "", who: str = "", token: str = "", seen: str = "") -> list[Row]:  # fmt: skip
        rows = []
        with self._transaction() as db:
            for id in ids:
                record = _read(db, pool, id)
                row = rules.acted(record, id, verb, value, _now(), _number(db), hard=hard, token=token)
                rows.append(row)
                if record is not None and row.word == "OK":
                    told = {"t": _now(), "k": "operator", "verb": verb, "who": who, "to": record.state}
                    self._write(db, record, told, moved=record.state != State.LOCKED)
        return rows

    def record(self, pool: str, task_id: str) -> Record | None:
        with self._transaction() as db:
            return _read(db, pool, task_id)

    def log(self, pool: str, task_id: str) -> list[bytes]:
        last = "SELECT line FROM log WHERE pool = ? AND id = ? ORDER BY number DESC LIMIT ?"
        with self._transaction() as db:
            return [line for (line,) in db.execute(last, (pool, task_id, LINES))][::-1]

    def pools(self) -> list[str]:
        with self._transaction() as db:
            return [pool for (pool,) in db.execute("SELECT DISTINCT pool FROM task ORDER BY pool")]

    def _write(self, db: sqlite3.Connection, record: Record, line: Mapping[str, Any] | None = None, *,
               moment: int | None = None, moved: bool = True) -> None:  # fmt: skip
        """Write a record, at the end of its lane if it has ``moved``, and a line of its log."""
        key, data = (record.pool, record.id), msgspec.msgpack.encode(record)
        if moved:
            moment = rules.moment(record, self.settings, _now()) if moment is None else moment
            row = (*key, record.state, record.worker, record.priority, _number(db), moment, record.lane, record.kind)
            db.execute("REPLACE INTO task VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", (*row, data))
        else:
            db.execute("UPDATE task SET data = ? WHERE pool = ? AND id = ?", (data, *key))
        if line is not None:
            db.execute("INSERT INTO log (pool, id, line) VALUES (?, ?, ?)", (*key, msgspec.json.encode(line)))


def _read(db: sqlite3.Connection, pool: str, id: str) -> Record | None:
    found = db.execute("SELECT data FROM task WHERE pool = ? AND id = ?", (pool, id)).fetchall()
    return next(iter(_records(found)), None)


def _held(db: sqlite3.Connection, pool: str, worker: str) -> list[tuple[str, int, bool]]:
    held = "SELECT data FROM task WHERE pool = ? AND state = ? AND worker = ?"
    found = db.execute(held, (pool, State.LOCKED, worker)).fetchall()
    return [(each.id, each.fence, False) for each in _records(found)]


def _records(rows: Sequence[tuple[bytes]]) -> list[Record]:
    return [msgspec.msgpack.decode(data, type=Record) for (data,) in rows]


def _number(db: sqlite3.Connection) -> int:
    """A number that the file never gave before."""
    (number,) = db.execute("UPDATE number SET last = last + 1 RETURNING last").fetchone()
    return int(number)


def _now() -> int:
    return time.time_ns() // 1_000_000
