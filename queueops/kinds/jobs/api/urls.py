"""URLs of the API: `path("api/v1/", include("queueops.kinds.jobs.api.urls"))`.

What ninja and Django answer themselves, to an unknown path or to another method, is a problem, too.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.urls import URLPattern, re_path
from django.views.decorators.csrf import csrf_exempt

from queueops.kinds.jobs.api.application import api
from queueops.kinds.jobs.api.head import as_get
from queueops.kinds.jobs.api.problems import Problem, answer

View = Callable[..., HttpResponse]


def _with_problem(view: View) -> View:
    """The same view. Its answer to a method that the path does not have is a problem."""

    @wraps(view)  # what exempts it from the CSRF check is copied, too
    def answered(request: HttpRequest, *args: Any, **given: Any) -> HttpResponse:
        try:
            found = view(request, *args, **given)
        except Http404:
            return _unknown(request)
        if found.status_code != 405:
            return found
        told = f"The path does not have the method {request.method}."
        return answer(request, Problem(405, told, headers={"Allow": found.headers.get("Allow", "")}))

    return answered


@csrf_exempt
def _unknown(request: HttpRequest) -> HttpResponse:
    return answer(request, Problem(404, "There is no such path."))


def _wrapped(pattern: URLPattern) -> URLPattern:
    return URLPattern(pattern.pattern, as_get(_with_problem(pattern.callback)), pattern.default_args, pattern.name)


urlpatterns = [
    *(_wrapped(each) for each in api.urls[0] if isinstance(each, URLPattern)),
    re_path("", _unknown),
]
app_name = api.urls_namespace
