"""Job: what the handler of a job gets."""

from __future__ import annotations

from typing import Any

import msgspec

from queueops.errors import NotDecodable
from queueops.tasks.context import Context
from queueops.tasks.encoding import decode_arguments


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """A job as its handler gets it. ``attempt`` is 1 at the first start."""

    id: str
    aggregation: str
    url: str = ""
    extra: str = ""
    options: dict[str, Any] = {}
    attempt: int = 1


def job_of(context: Context) -> Job:
    """The job that a worker has claimed. Raises NotDecodable."""
    lease = context.lease
    _, content = decode_arguments(lease.name, lease.args)
    try:
        return msgspec.convert({**content, "id": lease.id, "attempt": lease.attempt}, Job)
    except msgspec.ValidationError as error:
        raise NotDecodable(what="arguments", name=lease.name, reason=str(error)) from error
