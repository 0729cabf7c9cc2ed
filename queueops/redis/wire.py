"""How settlements and leases travel: the arguments and replies of the scripts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from queueops.conf import Settings
from queueops.contracts import Exchange, Extend, Lease, Settlement

Argument = str | int | float | bytes


def rules(settings: Settings) -> str:
    """The numbers by which the scripts judge leases: see ``lua/include/rules.lua``."""
    kept = [settings.retention[state] for state in ("succeeded", "failed", "cancelled")]
    times = [settings.lease, *kept]
    milliseconds = [round(seconds * 1000) for seconds in times]
    rest = (settings.max_crashes, round(settings.unknown_after * 1000), settings.payload_limit)
    return " ".join(map(str, (*milliseconds, *rest)))


def exchange_arguments(
    worker: str,
    want: int,
    idle: bool,
    longest_ms: int,
    rule_text: str,
    settle: Sequence[Settlement],
    extend: Sequence[Extend],
    metrics: Mapping[str, int],
) -> list[Argument]:
    """The arguments of ``exchange``."""
    arguments: list[Argument] = [
        worker,
        want,
        "1" if idle else "",
        longest_ms,
        rule_text,
        len(settle),
        len(extend),
        len(metrics),
    ]
    for end in settle:
        arguments += settlement_arguments(end)
        arguments.append("1" if end.counted else "")
    for held in extend:
        arguments += (held.id, held.fence, held.left_ms)
    for field, count in metrics.items():
        arguments += (field, count)
    return arguments


def settlement_arguments(end: Settlement) -> tuple[Argument, ...]:
    """One settlement, as ``exchange`` and ``recover`` take it."""
    return (end.id, end.fence, end.outcome, end.value, end.delay_ms, end.fingerprint, end.title)


def read_exchange(pool: str, reply: Sequence[Any]) -> Exchange:
    """The reply of ``exchange``."""
    leases, words, lost, cancels, sleep_ms, ready = reply
    reasons = iter(_texts(cancels))
    return Exchange(
        leases=[read_lease(pool, *row) for row in leases] if leases else [],
        settled=_texts(words),
        lost=_texts(lost),
        cancels=list(zip(reasons, reasons, strict=True)),
        sleep_ms=int(sleep_ms),
        ready=bool(ready),
    )


def _texts(values: Iterable[bytes]) -> list[str]:
    return [value.decode("utf-8", "replace") for value in values]


def read_lease(pool: str, task_id: bytes, fence: int, wait_ms: int, flat: Sequence[bytes]) -> Lease:
    """One claimed task. A number that can't be read is left out: the record is judged when the task is run."""
    lease = Lease(id=task_id.decode("utf-8", "replace"), fence=fence, pool=pool, wait_ms=wait_ms)
    for index in range(0, len(flat), 2):
        setter = _LEASE.get(flat[index])
        if setter is not None:
            setter(lease, flat[index + 1])
    if lease.previous is not None:
        lease.args = with_first(lease.args, lease.previous)
    return lease


def with_first(args: bytes, first: bytes) -> bytes:
    """Encoded arguments with one more in front, which is encoded, too; empty bytes are none."""
    value = first or b"null"
    if not args:
        return b"[[" + value + b"],{}]"
    return b"[[" + value + (b"" if args.startswith(b"[[]") else b",") + args[2:]


def _text(name: str) -> Any:
    def put(lease: Lease, value: bytes) -> None:
        setattr(lease, name, value.decode("utf-8", "replace"))

    return put


def _whole(name: str, plus: int = 0) -> Any:
    def put(lease: Lease, value: bytes) -> None:
        setattr(lease, name, int(value) + plus if value.lstrip(b"-").isdigit() else plus)

    return put


def _put_args(lease: Lease, value: bytes) -> None:
    lease.args = value


def _put_meta(lease: Lease, value: bytes) -> None:
    lease.meta = value


def _put_cursor(lease: Lease, value: bytes) -> None:
    lease.cursor = value


def _put_previous(lease: Lease, value: bytes) -> None:
    lease.previous = value


def _put_tags(lease: Lease, value: bytes) -> None:
    lease.tags = tuple(value.decode("utf-8", "replace").split(","))


_names: dict[bytes, str] = {}


def _put_name(lease: Lease, value: bytes) -> None:
    name = _names.get(value)
    if name is None:
        name = value.decode("utf-8", "replace")
        if len(_names) < 10_000:
            _names[value] = name
    lease.name = name


_LEASE = {
    b"n": _put_name,
    b"a": _put_args,
    b"u": _whole("uid"),
    b"k": _text("kind"),
    b"l": _text("lane"),
    b"p": _whole("priority"),
    b"at": _whole("attempt", 1),
    b"r": _whole("retries"),
    b"rp": _text("retry"),
    b"cr": _whole("crashes"),
    b"t": _whole("timeout_ms"),
    b"ro": _text("root"),
    b"pi": _text("parent_id"),
    b"tr": _text("trace"),
    b"ph": _text("phase"),
    b"pv": _put_previous,
    b"st": _put_cursor,
    b"me": _put_meta,
    b"tg": _put_tags,
}
