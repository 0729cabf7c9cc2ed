"""What the sample kind shows in the console: a tab with its rounds, a page, and a part of the overview."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse

from console.access.permissions import Verb
from console.ui.kind_pages import KindPages, Panel, Route, Tab, TabContent
from console.ui.links import tab_url
from queueops.inspect import Snapshot, TaskDetail
from tests.kinds.sample.inspect import rounds


def tab(request: HttpRequest, task: TaskDetail) -> TabContent:
    here = tab_url(task.id, task.pool, "rounds")
    return TabContent(content=rounds(task.id, task.pool), here=here, live_params={}, context={})


def page(request: HttpRequest, id: str) -> HttpResponse:
    return HttpResponse(" ".join(rounds(id)))


def panel(snapshot: Snapshot) -> Panel:
    return Panel(template="tests/rounds.html", context={"pools": len(snapshot.pools)})


PAGES = KindPages(
    records=("sample",),
    tabs=(Tab(name="rounds", label="Rounds", template="tests/rounds.html", read=tab),),
    routes=(Route(pattern="rounds/<name:id>/", view=page, name="rounds", permission=Verb.SEE_ARGUMENTS),),
    panel=panel,
)
