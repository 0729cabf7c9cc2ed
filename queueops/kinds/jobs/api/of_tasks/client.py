"""Client of the API of tasks: what its token permits, what it may see, and what its errors become."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.http import HttpRequest
from ninja import Router

from queueops import conf
from queueops.errors import (
    BadArguments,
    BadId,
    BadOption,
    FilterError,
    IdInUse,
    NotEncodable,
    PayloadTooLarge,
    QueueOpsError,
    ScheduleChanged,
    ScheduleFromCode,
    TooMany,
    UnknownLane,
    UnknownOption,
    UnknownSchedule,
    UnknownTask,
)
from queueops.inspect.redaction import concealing
from queueops.kinds.jobs.api.authentication import Bearer, check_scope, client_of_request
from queueops.kinds.jobs.api.problems import Problem
from queueops.kinds.jobs.api_tokens import Scope

router = Router(tags=["operations"])
STATUS = {
    404: (UnknownTask, UnknownLane, UnknownSchedule),
    409: (IdInUse, ScheduleChanged, ScheduleFromCode),
    413: (PayloadTooLarge,),
    422: (BadArguments, BadId, BadOption, FilterError, NotEncodable, TooMany, UnknownOption),
}
SEEN = Bearer(Scope.VIEW)
ANY = Bearer(None)
"""The scope depends on the body: `need` checks it."""


def need(request: HttpRequest, scope: Scope) -> None:
    """Raise Problem unless the token has the scope."""
    check_scope(client_of_request(request), scope)


@contextmanager
def told(request: HttpRequest) -> Iterator[None]:
    """Conceal arguments from a token without their scope, and make errors of the engine problems."""
    try:
        with concealing(Scope.SEE_ARGUMENTS not in client_of_request(request).scopes):
            yield
    except QueueOpsError as error:
        text = conf.redactor().text(str(error))
        if isinstance(error, BadOption) and error.name == "pool":
            raise Problem(404, text) from error
        for status, errors in STATUS.items():
            if isinstance(error, errors):
                raise Problem(status, text) from error
        raise
