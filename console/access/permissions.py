"""Permissions: one table that maps each URL name to the permission it needs.

A URL that is not in the table cannot be built: `console.access.guard` looks it up at import. So a new page stays closed
until the table names its permission. A kind names it in the route, and `console.urls` adds it.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from queueops import conf
from queueops.control.verbs import BULK, ON_TASKS

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser, User


class Verb(StrEnum):
    """A permission of the console; in Django it is `queueops_console.<verb>`."""

    VIEW = "view"
    OPERATE = "operate"
    DESTROY = "destroy"
    CONFIGURE = "configure"
    SEE_ARGUMENTS = "see_arguments"
    EXPORT = "export"
    PUSH = "push"
    SHARE = "share"


GROUPS: dict[str, tuple[Verb, ...]] = {
    "viewers": (Verb.VIEW,),
    "operators": (Verb.VIEW, Verb.OPERATE, Verb.SEE_ARGUMENTS),
    "administrators": (Verb.VIEW, Verb.OPERATE, Verb.DESTROY, Verb.CONFIGURE, Verb.SEE_ARGUMENTS),
}
"""The groups that the first migration creates. A later permission is given by an administrator."""

CHANGING = frozenset({Verb.OPERATE, Verb.DESTROY, Verb.CONFIGURE, Verb.PUSH, Verb.SHARE})
"""Permissions to change something: POST only, audited, and off while the setting READ_ONLY is on."""

ANYONE = None
_VIEWED = (
    "views view-save view-rename view-delete "
    "overview overview-live status tasks tasks-complete tasks-rows tasks-search "
    "task task-attempts task-timeline task-log task-why task-audit task-live "
    "errors errors-rows error error-live lanes lanes-rows lane lane-live "
    "workers workers-rows worker worker-live audit audit-entry audit-live "
    "registry registry-rows registry-task registry-task-live "
    "pool pool-live alerts alerts-rows "
    "settings settings-save audit-dismiss help find palette icons missing history-live history-values"
)
_ACTED = {
    f"{page}-{verb.name}": Verb.DESTROY if verb.destroys else Verb.OPERATE
    for verb in ON_TASKS.values()
    if verb.label
    for page in ("task", *(("tasks", "tasks-all") if verb.name in BULK else ()))
}

TABLE: dict[str, Verb | None] = {
    "login": ANYONE,
    "healthz": ANYONE,
    "readyz": ANYONE,
    "logout": ANYONE,
    **dict.fromkeys(_VIEWED.split(), Verb.VIEW),
    **_ACTED,
    **dict.fromkeys(("export", "task-export"), Verb.EXPORT),
    "task-raw": Verb.SEE_ARGUMENTS,
    "task-edit": Verb.SEE_ARGUMENTS,
    "task-edit-save": Verb.OPERATE,
    **dict.fromkeys(("undo", "audit-go-on", "audit-operation"), Verb.OPERATE),
    **dict.fromkeys(("error-resolve", "error-reopen", "error-note"), Verb.OPERATE),
    "lane-pause": Verb.CONFIGURE,
    "lane-resume": Verb.CONFIGURE,
    "lane-set": Verb.CONFIGURE,
    "registry-push": Verb.SEE_ARGUMENTS,
    "name-push": Verb.PUSH,
    "name-pause": Verb.CONFIGURE,
    "name-resume": Verb.CONFIGURE,
    "pool-pause": Verb.CONFIGURE,
    "pool-resume": Verb.CONFIGURE,
    "pool-empty_trash": Verb.DESTROY,
    "worker-quiet": Verb.CONFIGURE,
    "worker-stop": Verb.CONFIGURE,
    "worker-stacks": Verb.OPERATE,
    **dict.fromkeys(("alert-acknowledge", "alert-unacknowledge", "alert-silence", "alert-unsilence"), Verb.OPERATE),
    **dict.fromkeys(("alert-rule-silence", "alert-rule-unsilence", "alert-test"), Verb.CONFIGURE),
}

OWN = frozenset(TABLE)
"""The URLs of the console itself: `permit` adds those of kinds to the table."""

TAKING_ARGUMENTS = {"task-edit-save", "name-push", "error-note"}
"""URLs that need SEE_ARGUMENTS beside their own permission: their forms hold arguments or data."""


def permit(name: str, verb: Verb, *, takes_arguments: bool = False) -> None:
    """Add a URL that a kind brings. Raises LookupError if the name is in use: no kind changes the table's rows.

    Raises TypeError without a permission: only the console's own pages are open to anyone.
    """
    if not isinstance(verb, Verb):
        raise TypeError(f"the URL {name} needs a permission of the console, and {verb!r} is none")
    if name in TABLE:
        raise LookupError(f"two URLs of the console have the name {name}")
    TABLE[name] = verb
    if takes_arguments:
        TAKING_ARGUMENTS.add(name)


def granted(user: User | AnonymousUser) -> frozenset[Verb]:
    """The permissions that the user has now; while READ_ONLY is on, only reading is permitted."""
    if not user.is_authenticated or not user.is_active:
        return frozenset()
    verbs = frozenset(verb for verb in Verb if user.has_perm(f"queueops_console.{verb}"))
    return verbs - CHANGING if conf.current().read_only else verbs


def changes(name: str) -> bool:
    """Whether the URL of this name changes the system, and so must write an audit entry."""
    return TABLE[name] in CHANGING
