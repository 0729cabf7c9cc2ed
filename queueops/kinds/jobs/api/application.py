"""The API as one ninja application, and the answers to requests that are refused."""

from __future__ import annotations

import logging

from django.core.exceptions import RequestDataTooBig
from django.core.signals import got_request_exception
from django.http import HttpRequest, HttpResponse
from ninja.errors import AuthenticationError, HttpError, ValidationError

from queueops.errors import QueueOpsError
from queueops.kinds.jobs.api.aggregation_views import router as aggregations
from queueops.kinds.jobs.api.job_views import router as jobs
from queueops.kinds.jobs.api.of_tasks import router as tasks
from queueops.kinds.jobs.api.openapi import DescribedApi
from queueops.kinds.jobs.api.problems import Problem, answer, field_of, problem_of
from queueops.kinds.jobs.api.status_views import router as status

logger = logging.getLogger("queueops")
api = DescribedApi(
    title="QueueOps",
    version="1",
    description="Submits jobs; reads tasks and acts on them. Errors are problem details (RFC 9457).",
    urls_namespace="queueops-jobs-v1",
    servers=[{"url": "/", "description": "this server"}],
)
api.add_router("", jobs)
api.add_router("", aggregations)
api.add_router("", status)
api.add_router("", tasks)


@api.exception_handler(Problem)
def _refused(request: HttpRequest, error: Problem | type[Problem]) -> HttpResponse:
    return answer(request, error)


@api.exception_handler(QueueOpsError)
def _failed(request: HttpRequest, error: QueueOpsError | type[QueueOpsError]) -> HttpResponse:
    assert isinstance(error, QueueOpsError)  # noqa: S101 - ninja names the class in its types, and gives the error
    return answer(request, problem_of(error))


@api.exception_handler(ValidationError)
def _invalid(request: HttpRequest, error: ValidationError | type[ValidationError]) -> HttpResponse:
    found = getattr(error, "errors", [])
    errors = [(field_of(each["loc"]), str(each["msg"])) for each in found]
    return answer(request, Problem(422, "The request has fields that are wrong.", errors))


@api.exception_handler(AuthenticationError)
def _unknown(request: HttpRequest, error: AuthenticationError | type[AuthenticationError]) -> HttpResponse:
    return answer(request, Problem(401, "The request has no token that is known."))


@api.exception_handler(RequestDataTooBig)
def _too_large(request: HttpRequest, error: RequestDataTooBig | type[RequestDataTooBig]) -> HttpResponse:
    return answer(request, Problem(413, "The body is larger than DATA_UPLOAD_MAX_MEMORY_SIZE."))


@api.exception_handler(HttpError)
def _other(request: HttpRequest, error: HttpError | type[HttpError]) -> HttpResponse:
    return answer(request, Problem(getattr(error, "status_code", 400), str(error)))


@api.exception_handler(Exception)
def _unexpected(request: HttpRequest, error: Exception | type[Exception]) -> HttpResponse:
    """An error of the server: it is in the log, and told to what listens to Django's signal."""
    got_request_exception.send(sender=None, request=request)
    logger.error("An unexpected error of the API: %s %s", request.method, request.path, exc_info=True)
    return answer(request, Problem(500, "The server has had an unexpected error. It is in its log."))
