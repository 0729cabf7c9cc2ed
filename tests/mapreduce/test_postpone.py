"""Errored chunks are made to wait: the next attempt of one, of some, or of all comes later."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from queueops import control
from queueops.errors import BadOption
from queueops.kinds.mapreduce.store.chunk_keys import chunk_set
from tests.kernel.desk import POOL
from tests.mapreduce import invariants
from tests.mapreduce.bench import ChunkDesk, numbers_of

HOUR = 3_600_000


def errored(desk: ChunkDesk, count: int, delay_ms: int = 60_000) -> None:
    """A task whose chunks all wait for their second attempt."""
    desk.push_mapped(chunks=count)
    while leases := desk.claim(500):
        for lease in leases:
            desk.fail(lease, delay_ms=delay_ms)


def dues(desk: ChunkDesk) -> dict[int, int]:
    """When each errored chunk is due: its record, its set and the agenda say the same."""
    found = {}
    for number, score in desk.client.zrange(chunk_set(desk.keys, "m", "errored"), 0, -1, withscores=True):
        due = int(desk.chunk(int(number))["d"])
        assert due == score == desk.client.zscore(desk.keys.agenda, f"m#{int(number)}")
        found[int(number)] = due
    return found


def told(desk: ChunkDesk) -> list[str]:
    """What the task's log says of operators."""
    return [line.decode() for line in desk.broker.log(POOL, "m") if b'"operator"' in line]


def test_chunks_by_number_wait_and_then_run_with_the_attempts_that_they_had(desk: ChunkDesk) -> None:
    errored(desk, 3)
    before, now = dues(desk), desk.now()
    answer = control.postpone_chunks("m", [0, 2], seconds=3600, who="anna")
    assert (answer.changed, answer.refused, answer.state) == (2, {}, "aggregating")
    after = dues(desk)
    assert after[1] == before[1]
    assert all(now + HOUR <= after[number] <= desk.now() + HOUR for number in (0, 2))
    assert desk.claim(5) == []
    (line,) = told(desk)
    assert "postpone chunks" in line
    assert "anna" in line
    desk.make_due("m#0", "m#1", "m#2")
    desk.tick()
    leases = desk.claim(5)
    assert numbers_of(leases) == [0, 1, 2]
    assert {lease.attempt for lease in leases} == {2}
    invariants.check(desk.broker, POOL)


def test_they_may_come_sooner_too_and_at_a_given_time(desk: ChunkDesk) -> None:
    errored(desk, 2, delay_ms=10 * HOUR)
    moment = desk.now() + HOUR
    assert control.postpone_chunks("m", [0], until_ms=moment).changed == 1
    assert dues(desk)[0] == moment
    assert control.postpone_chunks("m", [1], seconds=timedelta(0)).changed == 1
    desk.tick()
    assert numbers_of(desk.claim(5)) == [1]


def test_all_that_would_come_sooner_wait_in_short_calls(desk: ChunkDesk) -> None:
    errored(desk, 350)
    control.postpone_chunks("m", [7, 8], seconds=7200)
    later = {number: due for number, due in dues(desk).items() if number in (7, 8)}
    answer = control.postpone_chunks("m", state="errored", seconds=3600)
    assert (answer.changed, answer.left) == (348, 0)
    found = dues(desk)
    assert {number: found[number] for number in (7, 8)} == later
    assert len({due for number, due in found.items() if number not in later}) == 1
    assert control.postpone_chunks("m", state="errored", until_ms=found[0]).changed == 0
    assert desk.counts() == (0, 0, 350, 0, 0)
    assert desk.broker.mend_chunks(POOL, "m", "postpone", whole="errored", value=b"+%d" % (3 * HOUR)).changed == 100


def test_what_is_not_errored_and_what_is_over_is_refused(desk: ChunkDesk) -> None:
    errored(desk, 2)
    desk.make_due("m#0")
    desk.tick()
    answer = control.postpone_chunks("m", [0, 1, 5], seconds=60)
    assert (answer.changed, answer.refused) == (1, {0: "pending", 5: ""})
    assert dict(control.reasons("postpone", answer))[0] == "postpone is not possible while chunk 0 is pending"
    desk.told("cancel", "m")
    before = desk.everything()
    for chosen in ({"numbers": [1]}, {"state": "errored"}):
        assert control.postpone_chunks("m", seconds=60, **chosen).changed == 0
    answer = control.postpone_chunks("m", [1], seconds=60)
    assert dict(control.reasons("postpone", answer))[1] == "postpone is not possible while the task is cancelled"
    assert desk.everything() == before
    assert control.postpone_chunks("nobody", [1], seconds=60).state == ""


@pytest.mark.parametrize(
    "given",
    [
        {"numbers": [0]},
        {"numbers": [0], "seconds": 1, "until_ms": 1},
        {"numbers": [0], "seconds": -1},
        {"numbers": [0], "seconds": 10**10},
        {"numbers": [0], "until_ms": 1.5},
        {"state": "failed", "seconds": 1},
        {"seconds": 1},
    ],
)
def test_a_time_that_is_none_and_chunks_that_cannot_wait_are_refused(desk: ChunkDesk, given: dict[str, Any]) -> None:
    errored(desk, 1)
    before = dues(desk)
    with pytest.raises(BadOption):
        control.postpone_chunks("m", **given)
    assert dues(desk) == before


@pytest.mark.django_db
def test_the_terminal_postpones_them(desk: ChunkDesk, capsys: pytest.CaptureFixture[str]) -> None:
    errored(desk, 3)
    call_command("queue", "mend", "m", "postpone", "--state", "errored", "--delay", "3600", "--yes")
    assert capsys.readouterr().out == "3 chunks done; the task is aggregating\n"
    assert min(dues(desk).values()) > desk.now() + HOUR - 60_000
    with pytest.raises(CommandError, match="Say for how long: --delay SECONDS"):
        call_command("queue", "mend", "m", "postpone", "0")
    with pytest.raises(CommandError, match="Only postpone takes --delay"):
        call_command("queue", "mend", "m", "retry", "0", "--delay", "5")
