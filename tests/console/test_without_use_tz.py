"""A project with USE_TZ = False: SQLite and MySQL refuse aware times, and Django leaves times of forms naive."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.test import Client
from django.utils import timezone

from console.access.permissions import Verb
from console.models import AuditEntry
from console.pages.history import written
from console.ui.forms import PostponeForm
from tests.console.standin import World
from tests.console.test_permissions import entry, user_may
from tests.console.walk import MUTATIONS, PAGES, Address, for_each_address

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def naive(settings: Any) -> None:
    settings.USE_TZ, settings.TIME_ZONE = False, "America/New_York"


@pytest.fixture
def administrator(administrator: Client) -> Client:
    """One whose zone is not the project's."""
    user_may("administrators", Verb.PUSH)
    administrator.cookies.load({"queueops_zone": "Asia/Tokyo"})
    return administrator


@for_each_address([*PAGES, *MUTATIONS])
def test_each_page_and_each_action_works(address: Address, world: World, administrator: Client) -> None:
    entry(administrator)
    if address.changes:
        assert administrator.post(address.path, address.form).status_code == address.done
    else:
        assert administrator.get(address.path).status_code in (200, 204)


def test_the_page_of_a_past_moment_works_and_has_what_happened(world: World, administrator: Client) -> None:
    AuditEntry.objects.create(actor_name="ada", verb="pause_lane", target="default/mails", outcome="done")
    moment = written(world.now - 600_000)
    assert "Show figures for" in administrator.get("/ops/", {"at": moment}).content.decode()
    assert "ada:" in administrator.get("/ops/", {"range": "1h"}).content.decode()


def test_a_time_in_a_form_is_one_of_the_user_s_zone() -> None:
    until = datetime.now(ZoneInfo("Asia/Tokyo")) + timedelta(hours=2)
    with timezone.override("Asia/Tokyo"):
        form = PostponeForm({"until": f"{until:%Y-%m-%dT%H:%M}"})
        assert form.is_valid()
        assert 7000 < form.values["seconds"] <= 7200
