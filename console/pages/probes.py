"""Probes without login: whether this process answers, and whether it reaches the store. They tell no names."""

from __future__ import annotations

import logging

from django.http import HttpRequest, HttpResponse

from queueops import inspect
from queueops.errors import QueueOpsError

TEXT = "text/plain; charset=utf-8"

logger = logging.getLogger("console.probes")


def alive(request: HttpRequest) -> HttpResponse:
    """200: the web process answers. It asks neither the database nor the store."""
    return HttpResponse("ok\n", content_type=TEXT)


def ready(request: HttpRequest) -> HttpResponse:
    """200 if the store answers, otherwise 503."""
    try:
        inspect.reach_store()
    except QueueOpsError as error:
        logger.warning("The store does not answer a probe: %s", error)
        return HttpResponse("the store does not answer\n", status=503, content_type=TEXT)
    return HttpResponse("ok\n", content_type=TEXT)
