"""Registration of jobs in the console: their pages, the tab of a job and its callbacks, and their links."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from console.access.permissions import Verb
from console.kinds.jobs import (
    aggregation_pages,
    callback_actions,
    callback_badges,
    callback_pages,
    file_pages,
    maintenance,
    resend_callbacks,
    token_pages,
)
from console.kinds.jobs.verbs import NOTES, VERBS
from console.ui.exported import Exported
from console.ui.kind_pages import KindPages, RecordWords, Remedy, Route, Tab, TabContent
from console.ui.links import tab_url, url
from queueops import inspect
from queueops.inspect import TaskDetail
from queueops.inspect.export import OF_A_PAGE, pages_of


def story(request: HttpRequest, task: TaskDetail) -> TabContent:
    """The tab of a job or a callback: both records as one story."""
    found = inspect.job_story(task)
    here = tab_url(task.id, task.pool, "delivery")
    pairs = list(zip(found.callbacks, found.bodies, strict=True))
    return TabContent(content=found, here=here, live_params={}, context={"deliveries": pairs})


def _viewed(pattern: str, view: Any, name: str) -> Route:
    return Route(pattern=pattern, view=view, name=name, permission=Verb.VIEW)


PAGES = KindPages(
    worker_words={
        "serves": pgettext_lazy("fact of a worker", "serves"),
        "disk": pgettext_lazy("fact of a worker", "disk"),
        "jobs": pgettext_lazy("fact of a worker", "jobs"),
        "callbacks": pgettext_lazy("fact of a worker", "callbacks"),
        "jobs and callbacks": pgettext_lazy("fact of a worker", "jobs and callbacks"),
        ", jobs wait": pgettext_lazy("fact of a worker", ", jobs wait"),
    },
    records=("job", "callback"),
    tabs=(Tab(name="delivery", label=_("Job and callback"), template="console/jobs/tab_story.html", read=story),),
    routes=(
        _viewed("aggregations/", aggregation_pages.index, "aggregations"),
        _viewed("aggregations/_rows", aggregation_pages.rows, "aggregations-rows"),
        *(
            Route(
                pattern=f"aggregations/<name:pool>/<name:lane>/_{verb}",
                view=aggregation_pages.act,
                name=f"aggregation-{verb}",
                permission=Verb.CONFIGURE,
                given={"verb": verb},
                verb=verb,
            )
            for verb in ("pause", "resume")
        ),
        *(
            Route(
                pattern=f"aggregations/<name:pool>/<name:lane>/_{verb}",
                view=aggregation_pages.act_on_aggregation,
                name=f"aggregation-{verb}",
                permission=Verb.DESTROY if verb == "remove" else Verb.CONFIGURE,
                given={"verb": verb},
                takes_arguments=verb == "proxy",
                verb=aggregation_pages.ACTIONS[verb].verb,
            )
            for verb in aggregation_pages.OF_AGGREGATIONS
        ),
        Route(
            pattern="aggregations/<name:pool>/<name:lane>/_set",
            view=aggregation_pages.change,
            name="aggregation-set",
            permission=Verb.CONFIGURE,
            verb="set_lane",
        ),
        *(
            Route(
                pattern=f"maintenance/_{verb}",
                view=maintenance.act,
                name=action.url,
                permission=Verb.CONFIGURE,
                given={"verb": verb},
                verb=action.verb,
            )
            for verb, action in maintenance.ACTIONS.items()
        ),
        Route(
            pattern="api-tokens/",
            view=token_pages.index,
            name="api-tokens",
            permission=Verb.VIEW,
            of_project=True,
        ),
        Route(
            pattern="api-tokens/_create",
            view=token_pages.create,
            name="api-token-create",
            permission=Verb.CONFIGURE,
            verb="create_token",
            of_project=True,
        ),
        Route(
            pattern="api-tokens/<int:number>/_revoke",
            view=token_pages.revoke,
            name="api-token-revoke",
            permission=Verb.CONFIGURE,
            verb="revoke_token",
            of_project=True,
        ),
        _viewed("callbacks/", callback_pages.index, "callbacks"),
        _viewed("callbacks/_rows", callback_pages.rows, "callbacks-rows"),
        _viewed("files/", file_pages.index, "files"),
        _viewed("files/_rows", file_pages.rows, "files-rows"),
        Route(
            pattern="files/_delete",
            view=file_pages.delete,
            name="file-delete",
            permission=Verb.DESTROY,
            verb="delete_file",
        ),
        Route(pattern="files/_keep", view=file_pages.keep, name="file-keep", permission=Verb.OPERATE, verb="keep_file"),
        Route(
            pattern="callbacks/_redirect",
            view=callback_actions.redirect,
            name="callbacks-redirect",
            permission=Verb.OPERATE,
            verb="redirect_callbacks",
            takes_arguments=True,
        ),
        Route(
            pattern="callbacks/_redeliver_all",
            view=resend_callbacks.redeliver_all,
            name="callbacks-redeliver-all",
            permission=Verb.OPERATE,
            verb="retry",
        ),
        Route(
            pattern="callbacks/_redirect_all",
            view=resend_callbacks.redirect_all,
            name="callbacks-redirect-all",
            permission=Verb.OPERATE,
            verb="redirect_callbacks",
            takes_arguments=True,
        ),
        Route(
            pattern="callbacks/_test",
            view=callback_actions.test,
            name="callbacks-test",
            permission=Verb.OPERATE,
            verb="send_test_callback",
            takes_arguments=True,
        ),
        Route(
            pattern="aggregations/<name:pool>/<name:lane>/_close_circuit",
            view=callback_actions.close,
            name="aggregation-close_circuit",
            permission=Verb.OPERATE,
            verb="close_circuit",
        ),
    ),
    tags=callback_badges.register,
    verbs=VERBS,
    notes=NOTES,
    words={
        "callback": RecordWords(
            badge=callback_badges.callback_state,
            number=callback_badges.callbacks,
            actions={action.verb: action for action in callback_pages.OWN},
        )
    },
    exports={
        "callbacks": Exported(
            (
                *("id", "pool", "state", "job", "url", "lane", "success", "attempt", "started", "retries"),
                *("entered_ms", "due_ms", "answer"),
            ),
            lambda params: pages_of(
                lambda after: inspect.callbacks(
                    params.get("show", ""), params.get("to", ""), after=after, limit=OF_A_PAGE
                )
            ),
        ),
        "aggregations": Exported(
            ("id", "pool", "lane", "limit", "rate", "weight", "paused", "draining", "oldest_ms", "used_ms", "counts"),
            aggregation_pages.pages,
        ),
    },
    in_use=lambda: inspect.uses_jobs(),
    group="jobs",
    sections={"callback": "callbacks"},
    remedies={
        "close_circuit": Remedy(
            "aggregation-close_circuit",
            _("Send again now"),
            lambda pool, lane: url("aggregation-close_circuit", pool=pool, lane=lane),
        )
    },
    navigation=(
        ("aggregations", "g", "stack-2", _("Aggregations")),
        ("callbacks", "b", "link", _("Callbacks")),
        ("files", "x", "file-text", _("Files")),
        ("api-tokens", "i", "lock", _("API tokens")),
    ),
)
