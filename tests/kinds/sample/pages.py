"""What the sample kind shows in the console: a tab with its rounds, a page, parts of pages, and a verb of its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.http import HttpRequest, HttpResponse

from console.access.permissions import Verb
from console.actions.undo import Step
from console.models import AuditEntry
from console.ui.kind_pages import (
    Finder,
    Hit,
    KindPages,
    Loss,
    PartPages,
    Piece,
    Route,
    StatePages,
    Tab,
    TabContent,
    VerbWords,
)
from console.ui.links import tab_url, task_url, url
from queueops.inspect import Snapshot, TaskDetail, TaskFacts
from tests.kinds.sample.inspect import rounds


def tab(request: HttpRequest, task: TaskDetail) -> TabContent:
    here = tab_url(task.id, task.pool, "rounds")
    return TabContent(content=rounds(task.id, task.pool), here=here, live_params={}, context={})


def page(request: HttpRequest, id: str) -> HttpResponse:
    return HttpResponse(" ".join(rounds(id)))


def overview(snapshot: Snapshot) -> Piece:
    return Piece(template="tests/rounds.html", context={"pools": len(snapshot.pools)})


def fact(task: TaskDetail) -> Piece | None:
    if task.kind != "sample":
        return None
    return Piece(template="tests/rounds_fact.html", context={"rounds": len(rounds(task.id, task.pool))})


def offer(task: TaskFacts, actions: dict[str, Any]) -> dict[str, Any]:
    own = {"retry": actions["retry"]._replace(label="Run all rounds again")} if "retry" in actions else {}
    return actions | own


def hits(text: str) -> Iterator[Hit]:
    if text.casefold() in "three rounds":
        yield Hit("three rounds", task_url("a"))


def back(entry: AuditEntry, **_: str) -> Iterator[Step]:
    yield Step(entry.before["pool"], (), lambda: entry.before["calls"])


def lost(task: TaskDetail) -> Loss | None:
    if task.kind != "sample":
        return None
    return Loss(count=3, note="All three rounds are deleted.", advice="Type the number of rounds.")


def part(id: str) -> str:
    return id.partition("#r")[0] if "#r" in id else ""


PAGES = KindPages(
    records=("sample",),
    tabs=(Tab(name="rounds", label="Rounds", template="tests/rounds.html", read=tab),),
    routes=(
        Route(pattern="rounds/<name:id>/", view=page, name="rounds", permission=Verb.SEE_ARGUMENTS),
        Route(
            pattern="rounds/<name:id>/_skip", view=page, name="round-skip", permission=Verb.CONFIGURE, verb="skip_round"
        ),
    ),
    pieces={"overview": overview, "task.facts": fact},
    offer=offer,
    notes={"retry": "The first round comes first."},
    verbs={
        "skip_round": VerbWords(
            label="Skip a round",
            phrase="Go on behind %(what)s",
            afterwards="Two rounds are left.",
            counted=lambda number: f"{number} rounds",
            ends=True,
            reasoned=True,
            undo=back,
        )
    },
    parts=PartPages(
        task=part,
        url=lambda id, pool: url("rounds", {"pool": pool}, id=part(id)),
        read=lambda id, pool: rounds(part(id), pool),
        waiting=lambda pool: 2,
        active=lambda pool: 1,
        number=lambda number: f"{number} rounds",
    ),
    lost_by_edit=lost,
    usual={"sample": ("pending", "waiting", "succeeded")},
    ways="pending>waiting",
    states={
        "skipped": StatePages(
            icon="zzz", meaning="rests between two rounds", like="idle", wide=(450, 240), narrow=(170, 500)
        )
    },
    facts={"rounds_left": "Rounds left"},
    finder=Finder(thing="round", id="the id of a round", title="Rounds", hits=hits),
)
