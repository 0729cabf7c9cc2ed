"""What the errors of redis-py become."""

from __future__ import annotations

from redis import exceptions

from queueops.errors.refusals import StoreNotReady
from queueops.redis.error_translation import is_later, translate


def test_a_server_that_answers_later_is_not_told_as_one_that_does_not_run() -> None:
    """A server that loads its data after a crash, or runs a long script, is running, and its URL is right."""
    loading = "Redis is loading the dataset in memory"
    for answer, reason in (
        (exceptions.BusyLoadingError(loading), f"BusyLoadingError: {loading}"),
        (exceptions.ResponseError(f"LOADING {loading}."), f"ResponseError: LOADING {loading}"),
        (exceptions.ResponseError("BUSY Redis is busy running a script."), "BUSY Redis is busy running a script"),
        (exceptions.MasterDownError("MASTERDOWN Link with MASTER is down."), "MASTERDOWN Link with MASTER is down"),
        (exceptions.ClusterDownError("CLUSTERDOWN Hash slot not served"), "CLUSTERDOWN Hash slot not served"),
    ):
        error = translate(answer, "redis://h", 5)
        assert type(error) is StoreNotReady
        assert is_later(answer)
        assert str(error).startswith("Redis at redis://h answers, but cannot do the call yet (attempts: 5): ")
        assert f"{reason}. Repeat the call later." in str(error)
