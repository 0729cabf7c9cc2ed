"""Permissions per pool: the pools on which a request acts, and what a user may do there.

A group has a permission in all pools, by Django's permissions, or in some pools, by a `PoolGrant`. An action needs the
permission in all pools if the request does not tell its pools.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from django.http import HttpRequest

from console.access.permissions import CHANGING, Verb, granted
from console.models import AuditEntry, PoolGrant
from queueops import conf, inspect
from queueops.model.ids import NAME

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser, User

LEVELS: dict[str, frozenset[Verb]] = {
    PoolGrant.Level.OPERATE: frozenset({Verb.OPERATE}),
    PoolGrant.Level.ADMINISTER: frozenset({Verb.OPERATE, Verb.DESTROY, Verb.CONFIGURE}),
    PoolGrant.Level.PUSH: frozenset({Verb.PUSH}),
}
OF_ENTRIES = ("undo", "audit-go-on", "audit-operation")
TELLING = ("lane-", "pool-", "task-", "tasks-", "name-")
"""How the names of URLs begin that tell the pools on which they act, beside OF_ENTRIES."""
OF_ALL_POOLS = ("schedule", "worker", "registry")
"""How the names of pages begin that may name a pool, but whose actions need the permission in all pools."""
KEPT = "_queueops_pool_grants"


def granted_in(user: User | AnonymousUser, pools: Iterable[str] | None) -> frozenset[Verb]:
    """What the user may do in each of these pools; without any, what the user may do in all pools."""
    everywhere, named = granted(user), frozenset(pools or ())
    if (
        not named
        or not all(NAME.fullmatch(pool) for pool in named)
        or Verb.VIEW not in everywhere
        or conf.current().read_only
    ):
        return everywhere
    in_each = [_of_grants(user, pool) for pool in named]
    return everywhere | frozenset.intersection(*in_each)


def granted_somewhere(user: User | AnonymousUser) -> frozenset[Verb]:
    """What the user may do in one pool at least."""
    everywhere = granted(user)
    if Verb.VIEW not in everywhere or conf.current().read_only:
        return everywhere
    return everywhere.union(*(LEVELS[level] for _pattern, level in _grants(user)))


def permits(request: HttpRequest, name: str, kwargs: Mapping[str, Any], verb: Verb) -> bool:
    """Whether the user may call the URL. Of ticked tasks one is enough: the view leaves out the others."""
    if verb in granted(request.user):
        return True
    if verb not in CHANGING or verb not in granted_somewhere(request.user):
        return False
    if name.startswith("tasks-") and not name.startswith("tasks-all-"):
        return any(verb in granted_in(request.user, [pool]) for pool in _ticked(request))
    return verb in granted_in(request.user, pools_of(request, name, kwargs))


def pools_of(request: HttpRequest, name: str, kwargs: Mapping[str, Any]) -> frozenset[str] | None:
    """The pools on which the URL acts; None: the request does not tell."""
    if name in OF_ENTRIES:
        entry = AuditEntry.objects.filter(pk=kwargs["pk"]).first()
        return None if entry is None else pools_of_entry(entry)
    if name == "name-push":
        return frozenset({inspect.push_pool(kwargs["id"])})
    if name.startswith(("lane-", "pool-")):
        return frozenset({kwargs.get("pool", "")})
    asked, sent = request.GET.get("pool", ""), request.POST.get("pool", "")
    if name.startswith("task-"):  # the view may read either
        return frozenset({sent, asked or sent})
    return frozenset({asked}) if name.startswith(("tasks-all-", "name-")) else None


def pools_of_entry(entry: AuditEntry) -> frozenset[str]:
    """The pools on which an action of the audit log acted; empty if the entry does not tell."""
    tasks = [*entry.ids, *entry.operations]
    of_filter = entry.filter.get("pool", "") if entry.is_mass else entry.before.get("pool", "")
    return frozenset(pool for pool, _id in tasks) or frozenset({of_filter} - {""})


def _ticked(request: HttpRequest) -> set[str]:
    return {value.partition(" ")[0] for value in request.POST.getlist("task")}


def _of_grants(user: User | AnonymousUser, pool: str) -> frozenset[Verb]:
    return frozenset[Verb]().union(*(LEVELS[level] for pattern, level in _grants(user) if fnmatchcase(pool, pattern)))


def _grants(user: User | AnonymousUser) -> list[tuple[str, str]]:
    """Pattern and level of the grants of the user's groups, read once for a request."""
    known: list[tuple[str, str]] | None = getattr(user, KEPT, None)
    if known is None:
        known = [] if granted(user) >= CHANGING else _read(user)
        setattr(user, KEPT, known)
    return known


def _read(user: User | AnonymousUser) -> list[tuple[str, str]]:
    groups = user.groups.all()
    found = PoolGrant.objects.filter(group__in=groups, level__in=LEVELS, store=conf.store_name())
    return list(found.values_list("pool", "level"))
