"""Command palette: pages, things by a part of their name, filters, and verbs on what a text names.

An action is a form with the URL of the button for it: the same permission, confirmation and audit. A verb alone offers
what it may act on. The find page shows the same actions without JavaScript.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

from django.http import HttpRequest, HttpResponse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from console.access.permissions import TABLE
from console.access.pools import TELLING
from console.actions.catalog import ACTIONS, actions_on
from console.actions.catalog import label as verb_label
from console.pages import find, push
from console.pages.views import in_navigation
from console.ui import filters
from console.ui.kind_pages import Hit, actions_of_kind, finders, kind_pages
from console.ui.links import task_url, url
from console.ui.pasted import pasted_id
from console.ui.render import Frame, one_of, page
from console.ui.state_badges import label as state_label
from queueops import inspect
from queueops.inspect import LookUp, TaskQuery
from queueops.model.states import table

MOST = 6
"""The most hits of one kind."""
LONGEST = 200


class Act(NamedTuple):
    """A verb on one thing: the form of its button. `more` tells the pool or the kind of the thing.

    `pool` is the pool that the permission may be for. With `is_form` the URL is that of a page with a form.
    """

    label: str | Promise
    target: str
    url: str
    more: str | Promise = ""
    pool: str = ""
    is_form: bool = False


class Offer(NamedTuple):
    """A verb without what it acts on: what it needs behind it, and the text that the field gets for it."""

    label: str
    needs: str
    text: str


class Command(NamedTuple):
    """A verb that is written before a name, and the URLs of its actions by what has the name; kinds have others."""

    word: str
    name: str = ""
    lane: str = ""
    pool: str = ""
    worker: str = ""

    @property
    def urls(self) -> dict[str, str]:
        """The names of the URLs, by what they act on."""
        return {kind: url for kind, url in self._asdict().items() if url and kind != "word"}


class _Meant(NamedTuple):
    """What a text with a verb means: actions on tasks, commands, and the name behind the verb, which may be empty."""

    tasks: list[str]
    commands: list[Command]
    target: str


PUSH = "push"
_THINGS = {"name": _("name"), "lane": _("lane"), "pool": _("pool"), "worker": _("worker")}
COMMANDS = (
    Command("pause", "name-pause", "lane-pause", "pool-pause"),
    Command("resume", "name-resume", "lane-resume", "pool-resume"),
    Command("quiet", worker="worker-quiet"),
    Command("stop", worker="worker-stop"),
    Command("stacks", worker="worker-stacks"),
    Command(PUSH, name="name-push"),
)


def hits(request: HttpRequest) -> HttpResponse:
    """What the palette shows for a text; without one, the pages."""
    text = request.GET.get("q", "").strip()[: find.LONGEST_PASTED]
    frame, wanted = Frame(request), text.casefold()
    pages = [Hit(link.label, link.url) for link in frame.navigation if wanted in link.label.casefold()]
    saved = [
        Hit(view.name, view.url) for view in in_navigation(request, counted=False) if wanted in view.name.casefold()
    ]
    acts, groups = _answer(frame, text) if text else ([], [])
    return page(
        request,
        "palette/hits.html",
        {
            "next": request.GET.get("here", ""),
            "wanted": wanted,
            "acts": acts,
            "offers": list(offers(request, wanted)),
            "groups": [
                group for group in (find.Group(_("Pages"), pages), find.Group(_("Views"), saved), *groups) if group.hits
            ],
        },
    )


def search(request: HttpRequest) -> HttpResponse:
    """The find page. For an action such as `pause shop.charge`, or a verb alone, it has what the palette has."""
    text = request.GET.get("q", "").strip()[:LONGEST]
    if _meant(text) is not None:
        acts, groups = _answer(Frame(request), text)
        groups = [group for group in groups if group.hits]
        if acts or (groups and _verb(text)):
            return page(request, "palette/page.html", {"text": text, "sought": text, "acts": acts, "groups": groups})
    return find.find(request)


def _answer(frame: Frame, text: str) -> tuple[list[Act], list[find.Group]]:
    """The permitted actions that a text such as `pause shop.charge` means, and what has the name in it.

    For a verb alone, such as `pause`, the actions on what was used last, and the lists where tasks are selected. A
    pasted line of a log, or JSON, means the task that it names.
    """
    meant = _meant(text)
    target = meant.target if meant is not None else text
    target = pasted_id(target) or target[:LONGEST]
    if asked := find.filter_in(target):
        return [], [find.Group(_("Filter"), [Hit(target, filters.address(asked), str(_("Tasks")))])]
    found = inspect.look_up(target, MOST)
    of_kinds = find.hits_of_kinds(found, target, MOST)
    if meant is None:
        in_a_state = find.found_in_state(target, MOST, sees_arguments=frame.sees_arguments)
        return [], [*in_a_state, *find.grouped(found, target, of_kinds)]
    things = (_on_things(command, found, frame) for command in meant.commands)
    words = (*meant.tasks, *(command.word for command in meant.commands))
    known = chain(_on_tasks(meant.tasks, found), *things, *(_of_kinds(word, of_kinds) for word in words))
    acts = [act for act, name in known if TABLE[name] in frame.may_in(*_pools(act, name))]
    return acts, list(find.grouped(found, target, of_kinds)) if target else [_lists(meant.tasks)]


def _pools(act: Act, url_name: str) -> list[str]:
    """The pools in which the action needs the permission; none: in all."""
    return [act.pool] if act.pool and url_name.startswith(TELLING) else []


def _meant(text: str) -> _Meant | None:
    """The actions on tasks and the commands of the verb with which a text begins; None without a verb."""
    known, others = _known()
    verb, target = (_verb(text), "") if _verb(text) else _parted(text, {*chain(*known.values(), *others.values())})
    tasks = [name for name, words in known.items() if verb in words]
    commands = [command for command, words in others.items() if verb in words]
    return _Meant(tasks, commands, target) if verb else None


def offers(request: HttpRequest, wanted: str) -> Iterator[Offer]:
    """The verbs of which a word begins with this text, if the user may use them in any pool."""
    (known, others), frame = _known(), Frame(request)
    for name, words in known.items():
        needs = [_("id of a task")] * (ACTIONS[name].permission in frame.may_somewhere) + _things_of_kinds(name, frame)
        if needs and _begins(words, wanted):
            yield _offer(str(ACTIONS[name].label), one_of(needs))
    for command, words in others.items():
        own = [_THINGS[kind] for kind, name in command.urls.items() if _is_offered(name, frame)]
        if (needs := [*own, *_things_of_kinds(command.word, frame)]) and _begins(words, wanted):
            yield _offer(str(verb_label(command.word)), one_of(needs))


def _things_of_kinds(word: str, frame: Frame) -> list[str | Promise]:
    """What kinds have behind this verb, if the user may use it there."""
    return [each.thing for each in finders() if word in each.verbs and _is_offered(each.verbs[word], frame)]


def _is_offered(url_name: str, frame: Frame) -> bool:
    """Whether the user may call the URL, at least for a thing in some pool."""
    return TABLE[url_name] in (frame.may_somewhere if url_name.startswith(TELLING) else frame.may)


def _offer(label: str, needs: str) -> Offer:
    return Offer(label, needs, f"{label.casefold()} ")


def _begins(words: set[str], wanted: str) -> bool:
    return any(word.startswith(wanted) for word in words)


def _lists(names: list[str]) -> find.Group:
    """The lists of tasks on which these actions are possible: there they are selected."""
    states = [state for state, permitted in table().actions.items() if {*names} & {*permitted}]
    links = [Hit(state_label(state), filters.address(TaskQuery(state=state)), str(_("Tasks"))) for state in states]
    return find.Group(_("Select tasks"), links)


def _verb(text: str) -> str:
    """The text, if it is a verb alone; else empty."""
    known, others = _known()
    return text.casefold() if text.casefold() in {*chain(*known.values(), *others.values())} else ""


def _known() -> tuple[dict[str, set[str]], dict[Command, set[str]]]:
    """The words of the actions on tasks, and those of the commands."""
    known = {*ACTIONS, *(command.word for command in COMMANDS)}
    of_kinds = dict.fromkeys(word for finder in finders() for word in finder.verbs if word not in known)
    commands = (*COMMANDS, *map(Command, of_kinds))
    labels: dict[str, list[str]] = {name: [str(action.label)] for name, action in ACTIONS.items()}
    for pages in kind_pages():
        for own in (pages.actions, *(words.actions for words in pages.words.values())):
            for name in labels.keys() & own.keys():
                labels[name].append(str(own[name].label))
    return (
        {name: set[str]().union(*(_words(name, each) for each in told)) for name, told in labels.items()},
        {command: _words(command.word, verb_label(command.word)) for command in commands},
    )


def _parted(text: str, known: set[str]) -> tuple[str, str]:
    """The longest known words with which a text begins, and the rest; both are empty if there are none."""
    longest = max(words.count(" ") + 1 for words in known)
    for number in range(min(longest, len(text.split()) - 1), 0, -1):
        *first, rest = text.split(maxsplit=number)
        if (words := " ".join(first).casefold()) in known:
            return words, rest.strip()
    return "", ""


def _words(name: str, label: str) -> set[str]:
    """What an action is called by: its name, its label in the language of the user, and the first word of that."""
    label = label.casefold()
    return {name, name.replace("_", "-"), label, label.partition(" ")[0]}


def _on_tasks(verbs: list[str], found: LookUp) -> Iterator[tuple[Act, str]]:
    rows = found.tasks or found.begun or [row for other in found.others for row in other.rows]
    for row in rows:
        own = actions_of_kind(row.kind)
        for verb, standard in actions_on(row).items():
            action = own.get(verb, standard)
            if verb in verbs:
                address = task_url(row.id, "", action.url_name)
                yield Act(action.label, row.id, address, row.name, row.pool), action.url_name


def _on_things(command: Command, found: LookUp, frame: Frame) -> Iterator[tuple[Act, str]]:
    verb = verb_label(command.word)
    if command.word == PUSH:
        for name in found.names:
            if push.offers(name, frame):
                pool = inspect.push_pool(name)
                yield Act(verb, name, url("registry-push", id=name), _("name"), pool, is_form=True), command.name
        return
    for name in found.names if command.name else ():
        yield Act(verb, name, url(command.name, id=name), _("name")), command.name
    for lane in found.lanes if command.lane else ():
        yield (
            Act(
                verb,
                lane.title or lane.name,
                url(command.lane, pool=lane.about, lane=lane.name),
                lane.about,
                lane.about,
            ),
            command.lane,
        )
    for pool in found.pools if command.pool else ():
        yield Act(verb, pool, url(command.pool, pool=pool), _("all lanes of the pool"), pool), command.pool
    for worker in found.workers if command.worker else ():
        if not worker.ended:
            yield Act(verb, worker.name, url(command.worker, id=worker.name), worker.about), command.worker


def _of_kinds(word: str, found: list[find.HitsOfKind]) -> Iterator[tuple[Act, str]]:
    """The actions on what kinds have found."""
    for finder, found_hits in found:
        if name := finder.verbs.get(word):
            for hit in found_hits:
                address = url(name, {"pool": hit.pool}, id=hit.text)
                yield Act(verb_label(word), hit.text, address, finder.thing, hit.pool), name
