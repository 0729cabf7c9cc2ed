"""Registration of composites in the console: the tab of their parts."""

from __future__ import annotations

from typing import NamedTuple

from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from console.kinds.composites.parts_picture import draw
from console.kinds.composites.retries import offer
from console.kinds.composites.template_tags import register
from console.kinds.composites.tree_page import COMPOSITES, TreePage
from console.ui.kind_pages import KindPages, Piece, Tab, TabContent
from queueops.inspect import Above, Branch, GraphNode, TaskDetail
from queueops.model.states import State


class Shown(NamedTuple):
    """What the tab shows: the tree, and the graph if the page begins with the first part."""

    root: Branch | None
    above: tuple[Above, ...]
    graph: GraphNode | None


def read(request: HttpRequest, task: TaskDetail) -> TabContent:
    """The parts of a task, as a request asks for them. Raises FilterError."""
    tree = TreePage(request, task)
    return TabContent(
        content=Shown(tree.tree.root, tree.tree.above, tree.graph),
        here=tree.here,
        live_params=tree.live_params,
        context={"tree": tree, "composites": COMPOSITES, "picture": draw(tree.graph)},
    )


def failed_tasks(words: str) -> Piece:
    """The title of the column of failed tasks, with what is counted."""
    return Piece(template="console/composites/failed_tasks.html", context={"words": words})


def fact(task: TaskDetail) -> Piece | None:
    """How many parts of a chain or a group have ended."""
    is_shown = not task.is_claimed and task.parts is not None
    return Piece(template="console/composites/fact.html", context={}) if is_shown else None


def reason(task: TaskDetail) -> Piece | None:
    """The link to the failed parts, beside the reason of the failure."""
    is_shown = task.parts and task.state == State.FAILED
    return Piece(template="console/composites/reason.html", context={}) if is_shown else None


def why(task: TaskDetail) -> Piece | None:
    """The link to the parts for which a task waits."""
    is_shown = task.state == State.IDLE and task.kind in COMPOSITES
    return Piece(template="console/composites/why.html", context={}) if is_shown else None


PAGES = KindPages(
    records=COMPOSITES,
    tabs=(Tab(name="children", label=_("Parts"), template="console/composites/tab_children.html", read=read),),
    tags=register,
    offer=offer,
    usual={
        "chain": ("idle", "succeeded", "failed"),
        "group": ("idle", "succeeded", "failed"),
        "iterator": ("pending", "locked", "idle", "succeeded", "failed"),
    },
    pieces={"errors.failed": failed_tasks, "task.facts": fact, "task.reason": reason, "task.why": why},
    notes={"rerun": _("An iterator starts from its beginning.")},
)
