"""Tree page: the parts of a composite that a request asks for, and the URL of each link."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from console.ui.links import task_url
from queueops import inspect
from queueops.inspect import Branch, TaskDetail
from queueops.kinds.composites.inspect.trees import MOST_OPENED, PAGE

COMPOSITES = ("chain", "group", "iterator")
"""Kinds that have parts."""
SHOWN: tuple[tuple[str, str | Promise], ...] = (("", _("All")), ("failed", _("Failed")), ("open", _("Not ended")))


class TreePage:
    """A tree as one request asks for it; its URLs keep the parameters of the request."""

    def __init__(self, request: HttpRequest, task: TaskDetail) -> None:
        """Read the tree. Raises FilterError for values that the page never offers."""
        self.task = task
        self.after, self.show = request.GET.get("after", ""), request.GET.get("show", "")
        self.opened = list(dict.fromkeys(request.GET.getlist("open")))[-MOST_OPENED:]
        self.tree = inspect.tree(task.id, task.pool, after=self.after, show=self.show, opened=self.opened)
        self.root = self.tree.root or Branch()
        self.has_picture = bool(self.root.rows) and not self.show and (not self.after or "picture" in request.GET)
        self.graph = inspect.parts_graph(task.id, task.pool) if self.has_picture else None

    @property
    def live_params(self) -> dict[str, Any]:
        """The parameters of the live update: the rows that are shown, even when the chain goes on meanwhile."""
        numbered = self.root.total is not None and not self.show
        picture = {"picture": "1"} if self.has_picture else {}  # the first page of a long chain begins in its middle
        return self._params(after=self.after or (str(self.root.first) if numbered else ""), **picture)

    @property
    def here(self) -> str:
        """The URL of this page."""
        return self._address()

    @property
    def first_url(self) -> str:
        """The URL of the first page."""
        return self._address(after="0" if self.root.total is not None and not self.show else "")

    @property
    def next_url(self) -> str:
        """The URL of the next page."""
        return self._address(after=self.root.next)

    @property
    def earlier_url(self) -> str:
        """The URL of the previous page."""
        return self._address(after=str(max(0, self.root.first - PAGE)))

    @property
    def is_first(self) -> bool:
        """Whether this page begins with the first row."""
        return self.after in ("", "0") and not self.root.first

    @property
    def choices(self) -> list[tuple[str, str | Promise, bool]]:
        """The filters of the parts: URL, label, and whether it is the current one."""
        return [(self._address(show=show, after=""), label, show == self.show) for show, label in SHOWN]

    def opening(self, id: str) -> str:
        """The URL of this page with one more branch open."""
        return self._address(open=[*self.opened, id][-MOST_OPENED:])

    def _params(self, **other: Any) -> dict[str, Any]:
        return {"after": self.after, "show": self.show, "open": self.opened, **other}

    def _address(self, **other: Any) -> str:
        return task_url(self.task.id, self.task.pool, "task-children", **self._params(**other))
