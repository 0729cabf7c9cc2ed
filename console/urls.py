"""URLs of the console. Pages end with a slash; fragments and actions begin with `_` and have no slash."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from django.urls import URLPattern, URLResolver, include, path, re_path

from console.access import converters
from console.access.guard import View, guarded
from console.access.permissions import Verb, permit
from console.actions.catalog import ACTIONS
from console.pages import (
    alerts,
    audit,
    bulk,
    completion,
    error_triage,
    errors,
    export,
    history,
    lane,
    lanes,
    operations,
    overview,
    palette,
    pool,
    probes,
    push,
    registry,
    session,
    settings,
    task,
    tasks,
    undo,
    views,
    worker,
    workers,
)
from console.pages.task import act_on_task
from console.ui import icons
from console.ui.kind_pages import Route, kind_pages, of_project, tabs_with_content
from console.ui.links import console_of
from queueops import conf
from queueops.control.verbs import BULK

converters.register()


def _url(route: str, view: View, name: str, **given: str) -> URLPattern:
    return path(route, guarded(name, view), given, name=name)


def _of_kind(route: Route) -> URLPattern:
    permit(route.name, route.permission, takes_arguments=route.takes_arguments)
    return _url(route.pattern, route.view, route.name, **route.given)


def _of_tab(tab: str) -> URLPattern:
    """A tab that a kind adds to the page of its tasks; the page itself reads it."""
    pattern = f"tasks/<name:id>/{tab}/"
    return _of_kind(
        Route(pattern=pattern, view=task.show, name=f"task-{tab}", permission=Verb.VIEW, given={"tab": tab})
    )


PAGES = [
    _url("", overview.index, "overview"),
    _url("_overview", overview.live, "overview-live"),
    _url("find/", palette.search, "find"),
    _url("_palette", palette.hits, "palette"),
    _url("export/<name:list>/", export.download, "export"),
    _url("_status", overview.status, "status"),
    _url("_history", history.live, "history-live"),
    _url("_history_values", history.values, "history-values"),
    _url("tasks/", tasks.index, "tasks"),
    _url("tasks/_rows", tasks.rows, "tasks-rows"),
    _url("tasks/_search", tasks.search, "tasks-search"),
    _url("tasks/_complete", completion.complete, "tasks-complete"),
    *(_url(f"tasks/_{verb}", tasks.act, f"tasks-{verb}", verb=verb) for verb in ACTIONS if verb in BULK),
    *(_url(f"tasks/_all_{verb}", bulk.act, f"tasks-all-{verb}", verb=verb) for verb in ACTIONS if verb in BULK),
    _url("tasks/<name:id>/", task.show, "task", tab="summary"),
    _url("tasks/<name:id>/_live", task.live, "task-live"),
    *(_url(f"tasks/<name:id>/{tab}/", task.show, f"task-{tab}", tab=tab) for tab in task.TABS if tab != "summary"),
    *(_of_tab(tab) for tab in tabs_with_content()),
    _url("tasks/<name:id>/_export", export.task, "task-export"),
    _url("tasks/<name:id>/edit/", act_on_task.edit, "task-edit"),
    _url("tasks/<name:id>/_edit", act_on_task.save, "task-edit-save"),
    *(_url(f"tasks/<name:id>/_{verb}", act_on_task.act, f"task-{verb}", verb=verb) for verb in ACTIONS),
    *(_of_kind(route) for pages in kind_pages() for route in pages.routes),
    _url("errors/", errors.index, "errors"),
    _url("errors/_rows", errors.rows, "errors-rows"),
    _url("errors/<name:fingerprint>/", errors.show, "error"),
    _url("errors/<name:fingerprint>/_live", errors.live, "error-live"),
    *(
        _url(f"errors/<name:fingerprint>/_{verb}", error_triage.act, f"error-{verb}", verb=verb)
        for verb in error_triage.ACTIONS
    ),
    _url("lanes/", lanes.index, "lanes"),
    _url("lanes/_rows", lanes.rows, "lanes-rows"),
    *(_url(f"lanes/<name:pool>/<name:lane>/_{verb}", lanes.act, f"lane-{verb}", verb=verb) for verb in lanes.ACTIONS),
    _url("lanes/<name:pool>/<name:lane>/", lane.show, "lane"),
    _url("lanes/<name:pool>/<name:lane>/_live", lane.live, "lane-live"),
    _url("lanes/<name:pool>/<name:lane>/_set", lanes.change, "lane-set"),
    _url("pools/<name:pool>/", pool.show, "pool"),
    _url("pools/<name:pool>/_live", pool.live, "pool-live"),
    *(_url(f"pools/<name:pool>/_{verb}", pool.act, f"pool-{verb}", verb=verb) for verb in pool.ACTIONS),
    _url("workers/", workers.index, "workers"),
    _url("workers/_rows", workers.rows, "workers-rows"),
    _url("workers/<name:id>/", worker.show, "worker"),
    _url("workers/<name:id>/_live", worker.live, "worker-live"),
    *(_url(f"workers/<name:id>/_{verb}", workers.act, f"worker-{verb}", verb=verb) for verb in workers.ACTIONS),
    _url("registry/", registry.index, "registry"),
    _url("registry/_rows", registry.rows, "registry-rows"),
    _url("registry/<name:id>/", registry.show, "registry-task"),
    _url("registry/<name:id>/_live", registry.live, "registry-task-live"),
    _url("registry/<name:id>/push/", push.show, "registry-push"),
    _url("registry/<name:id>/_push", push.act, "name-push"),
    *(_url(f"registry/<name:id>/_{verb}", registry.act, f"name-{verb}", verb=verb) for verb in registry.ACTIONS),
    _url("alerts/", alerts.index, "alerts"),
    _url("alerts/_rows", alerts.rows, "alerts-rows"),
    *(_url(f"alerts/<name:id>/_{verb}", alerts.act, f"alert-{verb}", verb=verb) for verb in alerts.ON_ALARM),
    *(
        _url(f"alerts/rules/<name:id>/_{verb}", alerts.act_on_rule, f"alert-rule-{verb}", verb=verb)
        for verb in alerts.ON_RULE
    ),
    _url("alerts/targets/<name:id>/_test", alerts.send_test, "alert-test"),
    _url("audit/", audit.index, "audit"),
    _url("audit/<int:pk>/", audit.show, "audit-entry"),
    _url("audit/<int:pk>/_live", audit.live, "audit-live"),
    _url("audit/<int:pk>/_undo", undo.undo, "undo"),
    _url("audit/<int:pk>/_go_on", bulk.go_on, "audit-go-on"),
    _url("audit/<int:pk>/_operation", operations.steer, "audit-operation"),
    _url("audit/<int:pk>/_dismiss", operations.dismiss, "audit-dismiss"),
    _url("views/", views.index, "views"),
    _url("views/_save", views.save, "view-save"),
    _url("views/<int:pk>/_rename", views.rename, "view-rename"),
    _url("views/<int:pk>/_delete", views.delete, "view-delete"),
    _url("settings/", settings.index, "settings"),
    _url("settings/_save", settings.save, "settings-save"),
    _url("help/", settings.keys, "help"),
    _url("_icons", icons.show, "icons"),
    _url("healthz", probes.alive, "healthz"),
    _url("readyz", probes.ready, "readyz"),
    _url("login/", session.login, "login"),
    _url("logout/", session.logout, "logout"),
    re_path(r"^.*/$", guarded("missing", overview.missing), name="missing"),
]


def of_stores(names: Iterable[str]) -> Iterator[URLResolver]:
    """The console of each of these stores, at `@<name>/`; what belongs to the project itself is only in its own."""
    hidden = of_project()
    pages = [each for each in PAGES if each.name not in hidden]
    for name in names:
        yield path(f"@{name}/", include((pages, "console"), namespace=console_of(name)), {"store": name})


urlpatterns: list[URLPattern | URLResolver] = [*PAGES]
if conf.store_names():  # each store's pages have a namespace beside the own one, so Django refuses `namespace=` then
    urlpatterns = [*of_stores(conf.store_names()), path("", include((PAGES, "console")))]
else:
    app_name = "console"
