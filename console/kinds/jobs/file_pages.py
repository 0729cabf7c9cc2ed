"""Files: what downloads have stored, the deletion queue, and files without a job, with the actions on each."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest
from django.utils.translation import gettext_lazy as _

from console.actions.catalog import Action
from console.actions.perform import answer
from console.actions.selection import Choice, Thing
from console.ui.links import url
from console.ui.render import fragment, live_update, page
from queueops import control, inspect
from queueops.errors import advice
from queueops.inspect import FilterError, OrphanFiles, QueuedFilePage, StoredFilePage
from queueops.model.explained import explained
from queueops.model.ids import ID, NAME

LONGEST_PATH = 1000
VIEWS = {
    "": _("Stored"),
    "queue": _("Deletion queue"),
    "failed": _("Failed deletions"),
    "orphans": _("Without a job"),
}
WHY = {
    "ended": _("the record of its job is gone"),
    "retention": _("its retention is over"),
    "operator": _("an operator deletes it"),
}
DELETE = Action(
    "delete_file",
    lambda pool, path, *, who, job="": control.delete_file(path, pool, job=job),
    _("Delete now"),
    "trash",
    irreversible=True,
    note=_("Deletes the file as soon as a worker is free. The record of its job stays, and says so."),
    url="file-delete",
)
KEEP = Action(
    "keep_file",
    lambda pool, path, *, who: control.keep_file(path, pool),
    _("Keep"),
    "check",
    note=_("Takes the file out of the deletion queue. A file whose job is gone has no job then."),
    url="file-keep",
)


class OfFile(Thing, frozen=True, kw_only=True):
    """A file in the storage; its name may have characters that no task's id has."""

    job: str

    @property
    def values(self) -> list[str]:
        """No task is selected."""
        return []

    @property
    def fields(self) -> list[tuple[str, str]]:
        """The fields that name the same file again."""
        ((pool, path),) = self.tasks
        return [("pool", pool), ("path", path), ("job", self.job)]


def index(request: HttpRequest) -> HttpResponse:
    """One page of the stored files, of the queue, or the files without a job."""
    context = _context(request)
    return page(request, "jobs/files.html", context, status=400 if context["is_wrong"] else 200)


def rows(request: HttpRequest) -> HttpResponse:
    """The live update of the page."""
    return fragment(request, "jobs/file_rows.html", _context(request))


def delete(request: HttpRequest) -> HttpResponse:
    """Delete a file now, after a question."""
    return _act(request, DELETE, {"deleted": True})


def keep(request: HttpRequest) -> HttpResponse:
    """Take a file out of the deletion queue."""
    return _act(request, KEEP, {"queued": False})


def _act(request: HttpRequest, action: Action, becomes: dict[str, Any]) -> HttpResponse:
    pool, path, job = (request.POST.get(name, "") for name in ("pool", "path", "job"))
    if not path or len(path) > LONGEST_PATH or not path.isprintable() or not NAME.fullmatch(pool):
        return HttpResponseBadRequest(_("The file could not be read. Select it again."))
    if job and not ID.fullmatch(job):
        return HttpResponseBadRequest(_("The file could not be read. Select it again."))
    given = {"job": job} if action is DELETE else {}
    bound = action._replace(call=lambda pool, path, **how: action.call(pool, path, **(given | how)))
    thing: Choice = OfFile(((pool, path),), was={"path": path, "job": job}, becomes=becomes, told=(), job=job)
    return answer(request, bound, thing, "files")


def _context(request: HttpRequest) -> dict[str, Any]:
    show, after, fault = request.GET.get("show", ""), request.GET.get("after", ""), ""
    found: StoredFilePage | QueuedFilePage | OrphanFiles
    try:
        if show not in VIEWS:
            known = advice(show, filter(None, VIEWS))
            raise FilterError(reason=f"there is no list {show!r} of files{known}")
        if show == "orphans":
            found = inspect.orphan_files()
        elif show:
            found = inspect.file_deletions(after=after, failed=show == "failed")
        else:
            found = inspect.stored_files(after=after)
    except FilterError as error:
        found, fault = StoredFilePage(rows=()), explained(error)
    is_wrong = bool(fault)
    following, fault = getattr(found, "next", ""), fault or getattr(found, "fault", "")
    return {
        "show": show,
        "views": [(word, label, url("files", {"show": word})) for word, label in VIEWS.items()],
        "why": WHY,
        "found": found,
        "fault": fault,
        "is_wrong": is_wrong,
        "here": url("files", {"show": show, "after": after}),
        "first_url": url("files", {"show": show}) if after else "",
        "next_url": url("files", {"show": show, "after": following}) if following else "",
        **live_update(url("files-rows"), show, after, found, show=show, after=after),
    }
