"""Registration of composites in the console: the tab of their parts."""

from __future__ import annotations

from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from console.kinds.composites.retries import offer
from console.kinds.composites.template_tags import register
from console.kinds.composites.tree_page import COMPOSITES, TreePage
from console.ui.kind_pages import KindPages, Tab, TabContent
from queueops.inspect import TaskDetail


def read(request: HttpRequest, task: TaskDetail) -> TabContent:
    """The parts of a task, as a request asks for them. Raises FilterError."""
    tree = TreePage(request, task)
    return TabContent(
        content=tree.tree,
        here=tree.here,
        live_params=tree.live_params,
        context={"tree": tree, "composites": COMPOSITES},
    )


PAGES = KindPages(
    records=COMPOSITES,
    tabs=(Tab(name="children", label=_("Parts"), template="console/task/tab_children.html", read=read),),
    tags=register,
    offer=offer,
    notes={"rerun": _("An iterator starts from its beginning.")},
)
