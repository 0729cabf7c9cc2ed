"""Registration of schedules in the console: their pages, what is found and what is shown of them, and their verbs."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from django.utils.translation import gettext_lazy as _

from console.access.permissions import Verb
from console.actions.undo import Step
from console.kinds.schedules import backfill_views, form_views, schedule_appearance, schedule_pages
from console.kinds.schedules.template_tags import register
from console.models import AuditEntry
from console.ui.exported import Exported
from console.ui.kind_pages import Finder, Hit, KindPages, Piece, Remedy, Route, VerbWords
from console.ui.links import url
from console.ui.narrowed import matching
from queueops import control, inspect
from queueops.inspect import KnownTask
from queueops.inspect.export import complete

ONE = "schedules/<name:id>/"


def _viewed(pattern: str, view: Any, name: str) -> Route:
    return Route(pattern=pattern, view=view, name=name, permission=Verb.VIEW)


def _edited(pattern: str, view: Any, name: str) -> Route:
    return Route(pattern=pattern, view=view, name=name, permission=Verb.SEE_ARGUMENTS)


def _saved(pattern: str, view: Any, name: str, verb: str) -> Route:
    return Route(
        pattern=pattern, view=view, name=name, permission=Verb.CONFIGURE, takes_arguments=True, verb=f"{verb}_schedule"
    )


def as_before(entry: AuditEntry, who: str, **_: str) -> Iterator[Step]:
    """Undo a pause or a resume."""
    pool, id = entry.before["pool"], entry.before["id"]
    back = control.resume_schedule if entry.verb == "pause_schedule" else control.pause_schedule
    yield Step(pool, (), partial(back, id, pool=pool, who=who))


def hits(text: str) -> Iterator[Hit]:
    """The schedules with this part in their name, or in that of their task."""
    part = text.casefold()
    for row in inspect.schedules():
        if part in f"{row.id} {row.task}".casefold():
            yield Hit(row.id, schedule_appearance.address(row), row.task, pool=row.pool)


def of_name(name: str) -> Piece | None:
    """The schedules that push tasks of a name; None if no schedule does."""
    found = [row for row in inspect.schedules() if row.task == name]
    return Piece(template="console/schedules/of_name.html", context={"schedules": found}) if found else None


def option(task: KnownTask | None) -> Piece | None:
    """The schedule that the code of a task declares; None without one."""
    if task is None or not task.schedule:
        return None
    return Piece(template="console/schedules/option.html", context={"task": task})


def head(_about: Any) -> Piece:
    """The title of the column of schedules in the registry."""
    return Piece(template="console/schedules/registry_head.html", context={})


def row(task: KnownTask) -> Piece:
    """The schedule of a task in the registry."""
    return Piece(template="console/schedules/registry_row.html", context={"task": task})


PAGES = KindPages(
    routes=(
        _viewed("schedules/", schedule_pages.index, "schedules"),
        _viewed("schedules/_rows", schedule_pages.rows, "schedules-rows"),
        _edited("schedules/_new", form_views.new, "schedule-new"),
        _saved("schedules/_create", form_views.create, "schedule-create", "create"),
        _viewed(ONE, schedule_pages.show, "schedule"),
        _viewed(f"{ONE}_live", schedule_pages.live, "schedule-live"),
        _edited(f"{ONE}edit/", form_views.edit, "schedule-edit"),
        _saved(f"{ONE}_edit", form_views.save, "schedule-edit-save", "edit"),
        _viewed(f"{ONE}backfill/", backfill_views.show, "schedule-backfill"),
        Route(
            pattern=f"{ONE}_backfill",
            view=backfill_views.perform,
            name="schedule-backfill-run",
            permission=Verb.OPERATE,
            verb="backfill_schedule",
        ),
        *(
            Route(
                pattern=f"{ONE}_{verb}",
                view=schedule_pages.act,
                name=f"schedule-{verb}",
                permission=Verb.OPERATE if verb == "run" else Verb.CONFIGURE,
                given={"verb": verb},
                verb=action.verb,
            )
            for verb, action in schedule_pages.ACTIONS.items()
        ),
    ),
    tags=register,
    navigation=(("schedules", "c", "clock", _("Schedules")),),
    verbs={
        "create_schedule": VerbWords(label=_("Create the schedule")),
        "edit_schedule": VerbWords(label=_("Edit the schedule")),
        "pause_schedule": VerbWords(label=_("Pause the schedule"), undo=as_before),
        "resume_schedule": VerbWords(label=_("Resume the schedule"), undo=as_before),
        "run_schedule": VerbWords(label=_("Run the schedule now")),
        "backfill_schedule": VerbWords(label=_("Backfill the schedule")),
        "delete_schedule": VerbWords(label=_("Delete the schedule"), phrase=_("Delete the schedule %(what)s")),
    },
    remedies={
        "resume_schedule": Remedy(
            "schedule-resume",
            _("Resume the schedule"),
            lambda pool, name: url("schedule-resume", {"pool": pool}, id=name),
        )
    },
    facts={
        "task": _("Task"),
        "line": _("When"),
        "zone": _("Time zone"),
        "jitter": _("Random delay, up to (s)"),
        "catch_up": _("Missed ticks"),
        "overlap": _("Overlapping"),
        "since": _("From"),
        "until": _("To"),
        "runs": _("Runs"),
    },
    finder=Finder(
        thing=_("schedule"),
        title=_("Schedules"),
        hits=hits,
        verbs={"pause": "schedule-pause", "resume": "schedule-resume", "run_now": "schedule-run"},
    ),
    exports={
        "schedules": Exported(
            (
                *("id", "pool", "condition", "task", "kind", "line", "zone", "catch_up", "overlap", "source", "args"),
                *("next_ms", "last_ms", "last_task", "last_state", "fired", "skipped", "missed", "queued"),
                *("paused_ms", "paused_by", "note"),
            ),
            lambda params: iter(
                [matching(params, complete(rows := inspect.schedules(), rows.broken), schedule_pages.COLUMNS)]
            ),
        )
    },
    pieces={"name": of_name, "name.options": option, "registry.head": head, "registry.row": row},
)
