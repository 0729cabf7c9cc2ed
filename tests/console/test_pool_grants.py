"""Permissions in single pools: a group may operate one pool, and only view another."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest
from django.contrib.auth.models import Group, Permission, User
from django.test import Client

from console.models import AuditEntry, PoolGrant
from queueops import inspect
from queueops.redis.broker import get_broker
from tests.console.standin import World
from tests.console.test_permissions import entry
from tests.console.walk import MUTATIONS, Address, for_each_address
from tests.kernel.desk import Desk, make
from tests.support.specimens import SICK, specimens

pytestmark = pytest.mark.django_db
TOLD = ("task-", "tasks-", "lane-", "pool-", "name-push", "undo", "audit-operation")
"""URLs of these names act in pools that the request tells; the others need the permission in all pools."""


@pytest.fixture
def member(viewer: Client) -> Client:
    """A viewer; the tests grant something in single pools to the group."""
    return viewer


def grant(pool: str, *levels: str) -> None:
    (group,) = Group.objects.filter(name="viewers")
    PoolGrant.objects.bulk_create(PoolGrant(group=group, pool=pool, level=level) for level in levels)


def sees_arguments() -> None:
    User.objects.get(username="viewers").user_permissions.add(Permission.objects.get(codename="see_arguments"))


@for_each_address(MUTATIONS)
def test_every_action_asks_for_the_permission_in_its_pool(address: Address, world: World, member: Client) -> None:
    entry(member)
    sees_arguments()
    grant("mail*", "administer", "push")
    assert member.post(address.path, address.form).status_code == 403
    by_query = address.name.startswith(("tasks-all-", "name-pause", "name-resume"))
    if not by_query:  # the pool in the query does not choose where the action acts
        other = f"{address.path}{'&' if '?' in address.path else '?'}pool=mail"
        assert member.post(other, address.form).status_code == 403
    assert world.calls == []
    grant("def*", "administer", "push")
    told = address.name.startswith(TOLD) and not address.name.startswith("tasks-all-")
    assert member.post(address.path, address.form).status_code == (address.done if told else 403)
    assert bool(world.calls) is told


def told(answer: Any) -> str:
    page = answer.content.decode().split("<main")[1].split("</main>")[0]
    return " ".join(html.unescape(re.sub("<[^>]*>", " ", page)).split())


@pytest.fixture
def desk(namespace: str) -> Desk:
    """Two waiting tasks in each of two pools."""
    made = Desk(get_broker())
    made.broker.push([make(id, pool=pool) for pool in ("mail", "billing") for id in (f"{pool[0]}1", f"{pool[0]}2")])
    return made


def states(**ids: str) -> list[str]:
    found = [inspect.task(id, pool) for id, pool in ids.items()]
    return [each.state if each else "" for each in found]


def test_a_mass_action_leaves_other_pools_out_and_says_so(desk: Desk, member: Client) -> None:
    grant("mail", "operate")
    page = member.get("/ops/tasks/?state=pending").content.decode()
    assert "/ops/tasks/_cancel" in page
    assert "/ops/tasks/_all_cancel" not in page
    assert all(f"{pool} {id}" in page for pool, id in (("mail", "m1"), ("billing", "b1")))
    ticked = {"task": ["mail m1", "billing b1"], "next": "/ops/tasks/?state=pending"}
    answer = member.post("/ops/tasks/_cancel", ticked, follow=True)
    assert "Left out, as your account may not do it there: 1 task of pool billing." in told(answer)
    assert states(m1="mail", b1="billing") == ["cancelled", "pending"]
    assert "/ops/tasks/_delete" not in page
    for query in ("state=pending", "state=pending&pool=billing"):
        refused = member.post(f"/ops/tasks/_all_cancel?{query}", {"confirmed": "3"})
        assert refused.status_code == 403
        assert "filter by one of these pools first" in told(refused)
    assert "/ops/tasks/_all_cancel" in member.get("/ops/tasks/?state=pending&pool=mail").content.decode()
    member.post("/ops/tasks/_all_cancel?state=pending&pool=mail", {"confirmed": "1"})
    assert states(m2="mail", b1="billing", b2="billing") == ["cancelled", "pending", "pending"]


def test_pages_of_schedules_and_workers_have_no_button_that_needs_all_pools(
    namespace: str, member: Client, administrator: Client
) -> None:
    grant(SICK, "administer")
    pages = {"schedules/": "hourly/_pause", "schedules/hourly/": "hourly/_run", "workers/w1/": "w1/_quiet"}
    with specimens():
        for page, action in pages.items():
            address = f"/ops/{page}?pool={SICK}"
            assert action in administrator.get(address).content.decode(), page
            assert action not in member.get(address).content.decode(), page
        assert "narrow/_pause" in member.get(f"/ops/lanes/{SICK}/narrow/").content.decode()


def test_buttons_and_undo_are_there_only_in_the_own_pool(desk: Desk, member: Client, administrator: Client) -> None:
    grant("mail", "operate")
    assert "/ops/tasks/m1/_cancel" in member.get("/ops/tasks/m1/?pool=mail").content.decode()
    assert "/ops/tasks/b1/_cancel" not in member.get("/ops/tasks/b1/?pool=billing").content.decode()
    assert member.post("/ops/tasks/b1/_cancel?pool=mail", {"pool": "billing"}).status_code == 403
    assert member.post("/ops/tasks/b1/_cancel?pool=mail").status_code == 403  # the store would look in all pools
    administrator.post("/ops/tasks/b1/_cancel", {"pool": "billing"})
    administrator.post("/ops/tasks/m1/_cancel", {"pool": "mail"})
    of_mail, of_billing = AuditEntry.objects.filter(verb="cancel").order_by("-pk")[:2]
    assert member.post(f"/ops/audit/{of_billing.pk}/_undo?pool=mail").status_code == 403
    assert f"/ops/audit/{of_mail.pk}/_undo" in member.get(f"/ops/audit/{of_mail.pk}/").content.decode()
    assert member.post(f"/ops/audit/{of_mail.pk}/_undo").status_code == 302
    assert states(m1="mail", b1="billing") == ["pending", "cancelled"]


def test_the_pool_of_a_lane_and_of_a_filter_decides_over_undo_and_go_on(
    desk: Desk, member: Client, administrator: Client
) -> None:
    grant("mail", "administer")
    for pool in ("mail", "billing"):
        administrator.post(f"/ops/lanes/{pool}/default/_set", {"limit": "4", "weight": "2"})
    of_billing, of_mail = AuditEntry.objects.filter(verb="set_lane").order_by("-pk")
    assert member.post(f"/ops/audit/{of_billing.pk}/_undo").status_code == 403
    assert member.post(f"/ops/audit/{of_mail.pk}/_undo").status_code == 302
    limits = {lane.pool: lane.limit for lane in inspect.lanes()}
    assert (limits["mail"], limits["billing"]) == (None, 4)
    for pool, status in (("mail", 302), ("billing", 403)):
        begun = {"verb": "cancel", "target": "all", "actor_name": "x", "count": 2, "place": ""}
        whole = AuditEntry.objects.create(filter={"state": "pending", "pool": pool}, **begun)
        assert member.post(f"/ops/audit/{whole.pk}/_go_on").status_code == status
    assert states(m1="mail", m2="mail", b1="billing") == ["cancelled", "cancelled", "pending"]


def test_the_page_of_a_name_pauses_it_in_the_own_pools_alone(desk: Desk, member: Client) -> None:
    name = make("x").name
    address = f"/ops/registry/{name}/"
    assert all("/_pause" not in member.get(f"{address}{query}").content.decode() for query in ("", "?pool=mail"))
    grant("mail", "administer")
    for query in ("", "?pool=mail"):
        page = member.get(f"{address}{query}").content.decode()
        assert re.findall(r'action="([^"]*_pause[^"]*)"', page) == [f"{address}_pause?pool=mail"]
    assert member.post(f"{address}_pause").status_code == 403
    member.post(f"{address}_pause?pool=mail")
    page = member.get(address).content.decode()
    assert re.findall(r'action="([^"]*_(?:pause|resume)[^"]*)"', page) == [f"{address}_resume?pool=mail"]
    member.post(f"{address}_resume?pool=mail")
    assert f"{address}_pause?pool=mail" in member.get(address).content.decode()
