"""Exposition: the metrics as a response, for those who may read them."""

from __future__ import annotations

import hmac
import logging
from typing import NamedTuple

from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder

from queueops import conf
from queueops.errors import QueueOpsError
from queueops.errors.kinds import NotOffered
from queueops.metrics.families import QueueOpsCollector

TEXT = "text/plain; charset=utf-8"
NO_TOKEN = "QUEUEOPS['METRICS_TOKEN'] is not set. Set it, and send it as `Authorization: Bearer <token>`.\n"  # noqa: S105
REFUSED = "Send the token of QUEUEOPS['METRICS_TOKEN'] as `Authorization: Bearer <token>`.\n"
AWAY = "The store does not answer; the log of this process says why.\n"

logger = logging.getLogger("queueops.metrics")

_registry = CollectorRegistry(auto_describe=False)
_registry.register(QueueOpsCollector())


class Exposition(NamedTuple):
    """A response before it has a form."""

    status: int
    media_type: str
    body: bytes


def expose(accept: str, authorization: str, *, open_to_all: bool = False) -> Exposition:
    """The metrics, in the format that the client accepts.

    A client needs the token of ``METRICS_TOKEN``; without one set, only ``open_to_all`` permits it. The status is 401
    or 403 for a client without permission, 503 if no pool answers, and 501 if the store offers no figures.
    """
    token = conf.current().metrics_token
    if not token and not open_to_all:
        return Exposition(403, TEXT, NO_TOKEN.encode())
    if token and not hmac.compare_digest(f"Bearer {token}".encode(), authorization.encode()):
        return Exposition(401, TEXT, REFUSED.encode())
    encoder, media_type = choose_encoder(accept)
    try:
        return Exposition(200, media_type, encoder(_registry))
    except NotOffered as error:
        return Exposition(501, TEXT, f"{error}\n".encode())
    except QueueOpsError as error:
        logger.warning("A scrape of the metrics failed: %s", error)
        return Exposition(503, TEXT, AWAY.encode())


@never_cache
@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """The metrics of all pools, for Prometheus: ``path("metrics", metrics)``. Needs ``METRICS_TOKEN``."""
    found = expose(request.headers.get("Accept", ""), request.headers.get("Authorization", ""))
    response = HttpResponse(found.body, status=found.status, content_type=found.media_type)
    if found.status == 401:
        response.headers["WWW-Authenticate"] = "Bearer"
    return response
