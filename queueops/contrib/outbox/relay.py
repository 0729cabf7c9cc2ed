"""Relay: sends the rows of a lane to the store in their order, and deletes each that the store has.

A push is recognised by its id or its token. So a row whose relay ended before it deleted the row is sent again, and
creates nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Sequence
from itertools import accumulate, groupby
from typing import Any, NamedTuple

import msgspec
from django.db.models import QuerySet
from django.db.models.functions import Length
from django.utils import timezone

from queueops import conf
from queueops.conf import redactor
from queueops.contrib.outbox.models import OutboxRow
from queueops.contrib.outbox.turns import turn_of
from queueops.errors import (
    BadReply,
    BrokenPool,
    BrokerUnavailable,
    EmbeddedFailed,
    NotDurable,
    QueueOpsError,
    StoreFull,
)
from queueops.errors.outbox import OutboxRefused, OutboxRowUnreadable
from queueops.errors.refusals import LibraryRefused
from queueops.model.encryption import refuse_sealed
from queueops.model.ports import Producer
from queueops.model.redact import cut
from queueops.tasks import outbox, push_hooks
from queueops.tasks.outbox import Kept, Plain

BATCH = 100
"""Rows that are sent in one turn."""
MOST_TEXT = 8_000_000
"""Characters of rows that are sent in one turn. A longer row is sent alone."""
OUTAGES = (BrokerUnavailable, StoreFull, NotDurable, BrokenPool, LibraryRefused, BadReply, EmbeddedFailed)
"""Errors of the store, and not of a row: the row waits. Some end with a deployment: two versions run until then."""
LONGEST_ERROR = 1_000

logger = logging.getLogger("queueops.relay")


class Turn(NamedTuple):
    """What a relay did in its turn: the pushes that it sent, whether there may be more, and an outage of the store."""

    sent: tuple[str, ...] = ()
    more: bool = False
    outage: Exception | None = None


class _Sent(NamedTuple):
    """What became of some rows: those to delete, those to give up with the reason, and an outage of the store."""

    done: list[OutboxRow]
    dead: list[tuple[OutboxRow, str]]
    outage: Exception | None = None


def written(kept: Kept) -> OutboxRow:
    """The row of a push."""
    push, ring = kept.push, conf.keyring()
    body = msgspec.json.encode(kept.body).decode()
    return OutboxRow(
        form=kept.form, pool=push.pool, lane=push.lane, push_id=push.id, name=push.name,
        body=body if ring is None else ring.seal(body), created=timezone.now(),
    )  # fmt: skip


def waiting(database: str) -> QuerySet[OutboxRow]:
    """The rows of a database that wait."""
    return OutboxRow.objects.using(database).filter(dead__in=[False])  # for dead=False SQLite would use no index


def take_turn(
    broker: Producer, database: str, pool: str, lane: str, own: Collection[str] = (), *, batch: int = BATCH
) -> Turn:
    """Send the oldest rows of a lane. With the ids of ``own`` pushes nothing is sent unless one is among these rows."""
    with push_hooks.held(), turn_of(database, pool, lane) as is_free:  # a receiver may break the turn's transaction
        if not is_free:
            return Turn()
        rows, more = _oldest(database, pool, lane, own, batch)
        sent = _send(broker, rows)
        _note(database, sent)
        return Turn(tuple(row.push_id for row in sent.done), more and sent.outage is None, sent.outage)


def _oldest(database: str, pool: str, lane: str, own: Collection[str], batch: int) -> tuple[list[OutboxRow], bool]:
    """The oldest rows of a lane, and whether there may be more. With the ids of ``own`` pushes, none without one."""
    found = waiting(database).filter(pool=pool, lane=lane).order_by("id").annotate(length=Length("body"))
    known = list(found.values_list("pk", "push_id", "length")[:batch])
    sums = accumulate(length for _, _, length in known)
    fit = [row for row, whole in zip(known, sums, strict=True) if whole <= MOST_TEXT] or known[:1]
    if not fit or (own and not any(push_id in own for _, push_id, _ in fit)):
        return [], False
    rows = OutboxRow.objects.using(database).filter(pk__in=[pk for pk, _, _ in fit]).order_by("id")
    return list(rows), len(known) == batch or len(fit) < len(known)


def _note(database: str, sent: _Sent) -> None:
    rows = OutboxRow.objects.using(database)
    if sent.done:
        rows.filter(pk__in=[row.pk for row in sent.done]).delete()
    for row, error in sent.dead:
        rows.filter(pk=row.pk).update(dead=True, error=error)
        logger.error("The outbox row %d of the database %s was given up: %s", row.pk, database, error)


def _send(broker: Producer, rows: Sequence[OutboxRow]) -> _Sent:
    """Send rows in their order, plain pushes together, until the store fails."""
    sent = _Sent([], [])
    for group in _together(rows):
        try:
            if len(group) == 1 or not _send_together(broker, group, sent):
                for row, body in group:
                    _send_alone(broker, row, body, sent)
        except OUTAGES as error:
            return sent._replace(outage=error)
    return sent


def _send_alone(broker: Producer, row: OutboxRow, body: Any, sent: _Sent) -> None:
    """Send one row. Raises an outage of the store; with another error the row is given up, and the lane goes on."""
    try:
        if isinstance(body, Exception):
            raise body
        outbox.form(row.form).send(broker, body)
    except OUTAGES:
        raise
    except Exception as error:  # whatever is wrong with a row, the others must not wait for it
        _give_up(row, error, sent)
    else:
        sent.done.append(row)


def _give_up(row: OutboxRow, error: Exception, sent: _Sent) -> None:
    text = str(error) if isinstance(error, QueueOpsError) else f"{type(error).__name__}: {error}"
    sent.dead.append((row, cut(redactor().text(text), LONGEST_ERROR)))


def _send_together(broker: Producer, group: Sequence[tuple[OutboxRow, Plain]], sent: _Sent) -> bool:
    """Send plain pushes in one call; False if the store took none because of one of them. Raises an outage."""
    try:
        answers = broker.push([body.push for _, body in group], durable=group[0][1].durable)
    except OUTAGES:
        raise
    except Exception:  # each is sent alone, and has its own error
        return False
    for (row, body), answer in zip(group, answers, strict=True):
        try:
            outbox.sent(body.push, answer)
        except OutboxRefused as error:
            _give_up(row, error, sent)
        else:
            sent.done.append(row)
    return True


def _together(rows: Sequence[OutboxRow]) -> Iterator[list[tuple[OutboxRow, Any]]]:
    """Rows in their order, plain pushes in groups."""
    read = [(row, _body(row)) for row in rows]

    def alike(each: tuple[OutboxRow, Any]) -> object:
        row, body = each
        return body.durable if isinstance(body, Plain) else row.pk + 2

    for _, group in groupby(read, alike):
        yield list(group)


def _body(row: OutboxRow) -> Any:
    """What the row holds, as it is sent now; the error of one that cannot be read."""
    try:
        found, ring = outbox.form(row.form), conf.keyring_to_read()
        text = row.body.encode() if ring is None else ring.open(row.body.encode())
        refuse_sealed("row", row.name, text)
        body = msgspec.json.decode(text, type=found.type)
        age_ms = max(0, round((timezone.now() - row.created).total_seconds() * 1000))
        for push in found.begin(body):
            outbox.kept_an_hour(push)
            outbox.grown_older(push, age_ms)
        return body
    except Exception as error:  # whatever is wrong with a row, the others must not wait for it
        return OutboxRowUnreadable(id=row.pk, reason=cut(str(error) or type(error).__name__, LONGEST_ERROR))
