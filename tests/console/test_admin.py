"""Grants in pools in Django's admin: the store is one of the settings."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib import admin
from django.contrib.auth.models import Group, User
from django.test import RequestFactory

from console.models import PoolGrant

pytestmark = pytest.mark.django_db
CHOICES = [("", "the project's own"), ("eu", "eu")]


@pytest.fixture
def grants(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The page of the grants, in a site of its own: the admin is no app of this project."""
    site = admin.AdminSite()
    monkeypatch.setattr(admin.sites, "site", site)
    from console.admin import PoolGrantAdmin

    return PoolGrantAdmin(PoolGrant, site)


@pytest.fixture
def form(settings: Any, rf: RequestFactory, grants: Any) -> Any:
    """Makes the form of a grant as the admin does, with the fields that were sent."""
    settings.QUEUEOPS = {**settings.QUEUEOPS, "STORES": {"eu": {"URL": "redis://eu"}}}
    request = rf.get("/")
    request.user = User(is_superuser=True, is_active=True)
    group = Group.objects.create(name="mail team")

    def make(grant: PoolGrant | None = None, **sent: str) -> Any:
        given = {"group": str(group.pk), "pool": "mail", "level": "operate", **sent}
        return grants.get_form(request, grant)(given, instance=grant)

    return make


def test_a_grant_is_in_a_store_of_the_settings(form: Any) -> None:
    assert form(store="eu").fields["store"].choices == CHOICES
    assert form(store="eu").save().store == "eu"
    assert form(store="").save().store == ""
    assert form(store="us").errors == {
        "store": ["Select a valid choice. us is not one of the available choices."],
    }


def test_a_grant_in_a_store_that_has_left_the_settings_is_marked_and_can_be_kept(form: Any, grants: Any) -> None:
    grant = PoolGrant.objects.create(
        group=Group.objects.get(name="mail team"), pool="mail", level="operate", store="old"
    )
    assert form(grant, store="old").fields["store"].choices == [*CHOICES, ("old", "old (not in STORES)")]
    assert form(grant, store="old", level="push").save().store == "old"
    assert grants.in_store(grant) == "old (not in STORES)"
