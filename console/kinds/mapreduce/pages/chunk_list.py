"""Chunk list: the chunks in one state of all map-reduce tasks that still process chunks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django.http import HttpRequest, HttpResponse

from console.access.permissions import Verb
from console.kinds.mapreduce.chunk_appearance import LOOKS
from console.kinds.mapreduce.pages.retry_listed import STATES
from console.ui.links import url
from console.ui.render import Frame, page
from queueops import inspect
from queueops.inspect import FilterError, ListedChunk
from queueops.inspect.export import OF_A_PAGE, pages_of
from queueops.kinds.mapreduce.states import ChunkState
from queueops.model.explained import explained

LIMIT = 50


def index(request: HttpRequest) -> HttpResponse:
    """One page of the chunks in a state; errored chunks, unless the URL names another state."""
    state, pool = request.GET.get("state") or str(ChunkState.ERRORED), request.GET.get("pool", "")
    after = request.GET.get("after", "")
    context: dict[str, Any] = {
        "state": state,
        "pool": pool,
        "states": [(name, look, _address(name, pool)) for name, look in LOOKS.items()],
        "first_url": _address(state, pool) if after else "",
        "here": _address(state, pool, after),
        "can_retry": state in STATES and Verb.OPERATE in Frame(request).may,
    }
    try:
        found = inspect.all_chunks(state, pool, after=after, limit=LIMIT)
    except FilterError as error:
        return page(request, "mapreduce/all.html", context | {"error": explained(error)}, status=400)
    next_url = _address(state, pool, found.next) if found.next else ""
    return page(request, "mapreduce/all.html", context | {"found": found, "next_url": next_url})


def pages(params: Mapping[str, Any]) -> Iterator[Sequence[ListedChunk]]:
    """All chunks in the state of the page, page by page. Raises FilterError."""
    state, pool = params.get("state") or str(ChunkState.ERRORED), params.get("pool", "")
    return pages_of(lambda after: inspect.all_chunks(state, pool, after=after, limit=OF_A_PAGE))


def _address(state: str, pool: str, after: str = "") -> str:
    return url("chunks", {"state": state, "pool": pool, "after": after})
