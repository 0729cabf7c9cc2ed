"""Worker wire format: arguments and replies of the scripts for settlements and leases."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from operator import methodcaller
from time import monotonic
from typing import Any, NamedTuple

from msgspec import structs

from queueops import conf
from queueops.conf import Settings
from queueops.model import endings, kinds
from queueops.model.contracts import (
    DEFAULT_LANE,
    Command,
    Exchange,
    Lease,
    Outcome,
    Posted,
    RoundTrip,
    Settlement,
    Told,
)
from queueops.model.encryption import Keyring
from queueops.model.records import reader_of

Argument = str | int | float | bytes
_TASK = b"task\0"
_SUCCESS = Outcome.SUCCESS
FULL_REPLY = 10
"""How many parts the reply of ``exchange`` has, but for that of a fast path."""


class Claim(NamedTuple):
    """What the leases of one reply share: ``now_ms`` by Redis' clock, ``received`` by the monotonic clock."""

    pool: str
    worker: str
    now_ms: int
    received: float


def rules(settings: Settings) -> str:
    """The numbers by which the scripts judge leases; see ``lua/lib/rules.lua``."""
    kept = [settings.retention[state] for state in ("succeeded", "failed", "cancelled")]
    times = [settings.lease, *kept]
    milliseconds = [round(seconds * 1000) for seconds in times]
    rest = (settings.max_crashes, round(settings.unknown_after * 1000), settings.payload_limit)
    return " ".join(map(str, (*milliseconds, *rest)))


def exchange_arguments(worker: str, longest_ms: int, rule_text: str, trip: RoundTrip) -> list[Argument]:
    """The arguments of ``exchange``."""
    settle, extend, metrics = trip.settle, trip.extend, trip.metrics or {}
    if settle and (ring := conf.keyring()) is not None:
        settle = [_sealed(end, ring) for end in settle]
    state = "1" if trip.idle else ""
    if trip.lanes or trip.kinds:
        kinds, met = (f"~{kind}" for kind in trip.kinds), (f"!{lane}" for lane in trip.met)
        state = " ".join((state, *trip.lanes, *kinds, *met))
    arguments: list[Argument] = [worker, trip.want, state, longest_ms, rule_text]
    arguments += (len(settle), len(extend), len(metrics), trip.take)
    for end in settle:
        if end.outcome == _SUCCESS:
            arguments += (end.id, end.fence, _SUCCESS, end.value)
        else:
            arguments += _settlement(end)
            arguments.append("1" if end.counted else "")
    for held in extend:
        arguments += (held.id, held.fence, held.left_ms)
    for field, count in metrics.items():
        arguments += (field, count)
    if len(settle) == 1 and not (extend or metrics) and settle[0].lane not in ("", DEFAULT_LANE):
        arguments.append(settle[0].lane)  # read behind a success
    return arguments


def settlement_arguments(end: Settlement) -> tuple[Argument, ...]:
    """One settlement, as ``recover`` reads it."""
    ring = conf.keyring()
    return _settlement(end if ring is None else _sealed(end, ring))


def _settlement(end: Settlement) -> tuple[Argument, ...]:
    return (end.id, end.fence, end.outcome, end.value, end.delay_ms, end.fingerprint, end.title)


def _sealed(end: Settlement, ring: Keyring) -> Settlement:
    """The same with a sealed result or error. Reasons in words are not sealed: the scripts compare them."""
    if end.outcome == _SUCCESS:
        return end if end.is_open else structs.replace(end, value=ring.seal(end.value))
    if end.outcome not in (Outcome.ERROR, Outcome.TIMEOUT):
        return end
    return structs.replace(end, value=ring.seal_error(end.value), title=ring.seal_title(end.title))


def read_exchange(pool: str, worker: str, reply: Sequence[Any]) -> Exchange:
    """Parse the reply of ``exchange`` to this worker. A fast path, which settles one task, has a short reply."""
    if len(reply) < FULL_REPLY:
        return _read_short(pool, worker, *reply)
    leases, words, lost, cancels, sleep_ms, ready, commands, now_ms, hard, ended = reply
    reasons, now = map(_text, cancels), int(now_ms)
    claim = Claim(pool, worker, now, monotonic())
    return Exchange(
        leases=[read_lease(claim, *row) for row in leases] if leases else [],
        settled=[*map(_text, words)],
        lost=[*map(_text, lost)],
        cancels=list(zip(reasons, reasons, strict=True)),
        sleep_ms=int(sleep_ms),
        ready=bool(ready),
        commands=read_commands(pool, commands) if commands else [],
        now_ms=now,
        hard=[*map(_text, hard)],
        ended=endings.read(pool, ended) if ended else [],
    )


def _read_short(pool: str, worker: str, sleep_ms: int, now_ms: bytes, ready: bytes = b"", *leases: Any) -> Exchange:
    claim = Claim(pool, worker, int(now_ms), monotonic())
    return Exchange(
        leases=[read_lease(claim, *row) for row in leases],
        settled=["OK"],
        lost=[],
        cancels=[],
        sleep_ms=sleep_ms,
        ready=bool(ready),
        now_ms=claim.now_ms,
    )


def command_arguments(rule_text: str, told: Sequence[Told], apply: Sequence[Command], take: int) -> list[Argument]:
    """The arguments of ``command``."""
    arguments: list[Argument] = [take, len(told), len(apply), "", rule_text]
    for each in told:
        arguments += (each.id, each.version, each.word, each.detail)
    for command in apply:
        arguments += (command.pool, len(command.fields), *command.fields)
    return arguments


def read_posted(pool: str, reply: Sequence[Any]) -> Posted:
    """Parse the reply of ``command``."""
    words, taken, more, ended = reply
    parts = iter(words)
    answers = [(word.decode("utf-8", "replace"), detail) for word, detail in zip(parts, parts, strict=True)]
    return Posted(answers, read_commands(pool, taken), bool(more), endings.read(pool, ended))


def read_commands(pool: str, rows: Sequence[Any]) -> list[Command]:
    """Parse commands taken from the outbox of a pool."""
    found = []
    for command_id, flat in rows:
        fields = dict(zip(flat[::2], flat[1::2], strict=True))
        to = fields.get(b"to", b"").decode("utf-8", "replace")
        found.append(Command(command_id.decode("utf-8", "replace"), pool, to, fields.get(b"vn", b""), tuple(flat)))
    return found


def read_token(pool: str, token: bytes) -> str | Lease:
    """Parse a wake-up token: a word, or ``task`` and the parts of a lease, with a zero byte between them."""
    if not token.startswith(_TASK):
        return token.decode("utf-8", "replace")
    _, at_ms, task_id, *fields = token.split(b"\0")
    record = dict(zip(fields[::2], fields[1::2], strict=True))
    claim = Claim(pool, record.get(b"w", b"").decode("utf-8", "replace"), int(at_ms), monotonic())
    lease = read_lease(claim, task_id, int(record[b"f"]), 0, fields)
    lease.handed_ms = claim.now_ms
    return lease


def read_lease(claim: Claim, task_id: bytes, fence: int, wait_ms: int, flat: Sequence[bytes]) -> Lease:
    """Parse one claimed task. An unreadable number is omitted: the record is judged when the task runs."""
    pool, worker, now_ms, received = claim
    lease = Lease(
        id=task_id.decode("utf-8", "replace"),
        fence=fence,
        pool=pool,
        wait_ms=wait_ms,
        worker=worker,
        begun_ms=now_ms,
        received=received,
    )
    for index in range(0, len(flat), 2):
        short, value = flat[index], flat[index + 1]
        if (field := _LEASE.get(short)) is not None:
            try:
                setattr(lease, field[0], field[1](value))
            except ValueError:
                continue
        elif (field := _own().get(short)) is not None and (found := field[1](value)) is not None:
            lease.own[field[0]] = found
    if lease.previous is not None:
        lease.args = with_first(lease.args, lease.previous)
    return lease


def with_first(args: bytes, first: bytes) -> bytes:
    """Prepend an encoded argument to encoded arguments; an empty ``args`` holds none, an empty ``first`` is null."""
    value = first or b"null"
    if not args:
        return b"[[" + value + b"],{}]"
    if args.startswith(b'"'):  # sealed, and no key opens them: the task says so when it runs
        return args
    return b"[[" + value + (b"" if args.startswith(b"[[]") else b",") + args[2:]


_text: Callable[[bytes], str] = methodcaller("decode", "utf-8", "replace")
_LEASE: dict[bytes, tuple[str, Callable[[bytes], Any]]] = {
    b"n": ("name", _text),
    b"a": ("args", bytes),
    b"u": ("uid", int),
    b"c": ("created_ms", int),
    b"k": ("kind", _text),
    b"l": ("lane", _text),
    b"p": ("priority", int),
    b"at": ("attempt", lambda failed: int(failed) + 1),
    b"r": ("retries", int),
    b"rp": ("retry", _text),
    b"cr": ("crashes", int),
    b"t": ("timeout_ms", int),
    b"ro": ("root", _text),
    b"pi": ("parent_id", _text),
    b"tr": ("trace", _text),
    b"ph": ("phase", _text),
    b"pv": ("previous", bytes),
    b"me": ("meta", bytes),
    b"tg": ("tags", lambda tags: tuple(_text(tags).split(","))),
    b"#brief": ("brief", bytes),
}
"""The attribute of a lease for each field of a record, and what reads it: ValueError for an unreadable number."""


@cache
def _own() -> dict[bytes, tuple[str, Callable[[bytes], Any]]]:
    """The same for the fields of the built-in kinds, in ``own``."""
    fields = kinds.fields_of(kinds.KINDS)
    return {short.encode(): (each.name, reader_of(each.codec)) for short, each in fields.items() if each.in_lease}
