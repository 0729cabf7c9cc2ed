"""Export of lists: a stream of all rows of a list as CSV or NDJSON, with an audit entry; one task as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
from django.core.exceptions import PermissionDenied, SuspiciousOperation
from django.http import Http404, HttpRequest, HttpResponseBase, JsonResponse, StreamingHttpResponse
from django.utils import timezone
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from console.access.permissions import Verb, granted
from console.audit.log import begin, kept, recorded
from console.http import error_pages
from console.models import AuditEntry, Outcome
from console.pages import lanes, registry, workers
from console.pages.audit import asked_entries
from console.pages.task import find
from console.ui.error_groups import FILTERS, grouped
from console.ui.exported import Exported
from console.ui.kind_pages import kind_pages
from console.ui.narrowed import matching
from queueops import inspect
from queueops.errors import FilterError
from queueops.errors.export import ExportStopped
from queueops.inspect import ErrorRow, LaneRow, TaskQuery
from queueops.inspect.export import FORMATS, OF_A_PAGE, TASK_COLUMNS, Piece, complete, pages_of, pieces, task_pages
from queueops.inspect.redaction import concealing, conceals
from queueops.model.explained import explained
from queueops.model.sentences import encodable

WAYS = ("format", "after", "seen", "found")
"""Parameters that are no part of the filter."""


def download(request: HttpRequest, list: str) -> HttpResponseBase:
    """All rows of a list, with the filter of its page. The first page is read before the answer begins."""
    may, format = granted(request.user), request.GET.get("format", "csv")
    exported = exports().get(list)
    if Verb.VIEW not in may:
        raise PermissionDenied
    if exported is None:
        raise Http404
    if format not in FORMATS:
        raise SuspiciousOperation(_("There is no format %(format)s: write csv or ndjson.") % {"format": format[:40]})
    try:
        params = request.GET.dict() | {"user": request.user.get_username()}
        found = pieces(exported.columns, exported.pages(params), format)
        first = next(found)
    except FilterError as error:
        raise SuspiciousOperation(explained(error)) from error
    except ExportStopped as error:
        return error_pages.unavailable(request, error)
    asked = urlencode({name: value for name, value in request.GET.dict().items() if value and name not in WAYS})
    entry = begin(request, "export", f"{list}?{asked}" if asked else list, after={"format": format})
    stream = _recorded(entry, first, found, hidden=Verb.SEE_ARGUMENTS not in may)
    return _attached(StreamingHttpResponse(stream, content_type=FORMATS[format]), f"{list}.{format}")


def task(request: HttpRequest, id: str) -> HttpResponseBase:
    """One task, as `queue show --json` has it."""
    if Verb.VIEW not in granted(request.user):
        raise PermissionDenied
    found = find(request, id)
    with recorded(request, "export", found.id, tasks=[(found.pool, found.id)]) as entry:
        entry.changed, entry.after = 1, {"format": "json"}
        return _attached(JsonResponse(msgspec.to_builtins(found, enc_hook=encodable)), "task.json")


def _recorded(entry: AuditEntry, first: Piece, rest: Iterator[Piece], *, hidden: bool) -> Iterator[bytes]:
    """The stream. Each page is read when it is sent, and the entry gets the number of rows that were sent."""
    piece: Piece | None = first
    entry.outcome, entry.detail = Outcome.PARTLY, gettext_noop("the client has closed the connection")
    try:
        while piece is not None:
            yield piece.text.encode("utf-8", "replace")
            entry.changed = entry.count = entry.count + piece.rows
            with concealing(hidden):
                piece = next(rest, None)
        entry.outcome, entry.detail = Outcome.DONE, ""
    except Exception as error:  # the connection breaks off, so that no client takes the part for the whole
        entry.outcome, entry.detail = Outcome.FAILED, kept(str(error), 1000)
        raise
    finally:
        entry.save()


def _attached(response: HttpResponseBase, name: str) -> HttpResponseBase:
    stem, _dot, end = name.rpartition(".")
    response["Content-Disposition"] = f'attachment; filename="{stem}-{timezone.now():%Y%m%d-%H%M%S}.{end}"'
    return response


def _audit(params: Mapping[str, Any]) -> Iterator[Sequence[AuditEntry]]:
    entries, _asked, fault = asked_entries(params)
    if fault:
        raise FilterError(reason=fault)
    rows = list(entries[:OF_A_PAGE])
    while rows:
        if conceals():  # as the pages: reasons and details can quote arguments
            for row in rows:
                row.reason = row.detail = ""
        yield rows
        rows = list(entries.filter(pk__lt=rows[-1].pk)[:OF_A_PAGE])
    yield ()


def exports() -> dict[str, Exported]:
    """All lists that can be exported, by name: those of the console, and those of kinds."""
    return OWN | {name: each for pages in kind_pages() for name, each in pages.exports.items()}


def _errors(params: Mapping[str, Any]) -> Iterator[Sequence[ErrorRow]]:
    """Each row of the groups that the page shows; `user` is the reader."""
    found = inspect.errors(OF_A_PAGE)
    show = params.get("show", "") if params.get("show", "") in FILTERS else ""
    groups = (group for group in grouped(complete(found, found.broken)) if group.fits(show, params["user"]))
    yield [row for group in groups for row in group.rows]


def _lanes(params: Mapping[str, Any]) -> Iterator[Sequence[LaneRow]]:
    """The lanes that match the filter, page by page, each in the order of its page."""
    for rows in pages_of(lambda after: inspect.lane_page(params.get("pool", ""), after)):
        yield matching(params, rows, lanes.COLUMNS)


def _once(read: Any, columns: Any) -> Any:
    """The pages of a list that is read as a whole."""
    return lambda params: iter([matching(params, complete(rows := read(), rows.broken), columns)])


OWN = {
    "tasks": Exported(TASK_COLUMNS, lambda params: task_pages(TaskQuery.from_params(params))),
    "errors": Exported(
        ("fingerprint", "pool", "name", "type", "message", "count", "failed", "first_ms", "last_ms", "sample_id"),
        _errors,
    ),
    "lanes": Exported(
        ("pool", "lane", "title", "ready", "active", "limit", "rate", "weight", "paused", "oldest_ms"),
        _lanes,
    ),
    "workers": Exported(
        (
            *("id", "host", "pid", "state", "version", "pools", "lanes", "kinds", "slots", "busy", "rss"),
            *("started_ms", "beat_ms"),
        ),
        _once(lambda: inspect.workers(), workers.COLUMNS),
    ),
    "registry": Exported(
        ("name", "kind", "module", "signature", "schedule", "workers"),
        _once(lambda: inspect.registry(), registry.COLUMNS),
    ),
    "audit": Exported(
        ("pk", "at", "actor_name", "address", "verb", "target", "count", "changed", "outcome", "reason", "detail"),
        _audit,
    ),
}
