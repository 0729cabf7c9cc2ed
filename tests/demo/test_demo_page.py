"""The demo's page with the slider, and its account."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client

from console.models import AuditEntry
from queueops_demo.models import Digest, Pace, Report
from queueops_demo.prepare import ensure_operator

in_the_demo = pytest.mark.urls("queueops_demo.addresses")


@pytest.fixture(autouse=True)
def collected(settings: Any) -> None:
    """WhiteNoise warns of a directory of static files that is not there."""
    Path(settings.STATIC_ROOT).mkdir(exist_ok=True)


@pytest.fixture
def visitor(request: pytest.FixtureRequest, db: None) -> Client:
    """A browser in which a member of the group is logged in."""
    user = User.objects.create_user("somebody")
    user.groups.set([Group.objects.get(name=request.param)])
    client = Client()
    client.force_login(user)
    return client


@in_the_demo
@pytest.mark.parametrize("visitor", ["administrators"], indirect=True)
def test_an_administrator_sets_the_pace_and_the_audit_log_tells(visitor: Client) -> None:
    assert Pace.now() == 4
    answer = visitor.post("/ops/demo/_pace", {"rate": "25"})
    assert (answer.status_code, answer.headers["Location"]) == (302, "/ops/demo/")
    assert Pace.now() == 25
    entry = AuditEntry.objects.get()
    assert (entry.verb, entry.before, entry.after) == ("pace", {"rate": 4.0}, {"rate": 25.0})


@in_the_demo
@pytest.mark.parametrize("rate", ["", "-1", "101", "nan", "fast"])
@pytest.mark.parametrize("visitor", ["administrators"], indirect=True)
def test_a_pace_that_makes_no_sense_changes_nothing(visitor: Client, rate: str) -> None:
    assert visitor.post("/ops/demo/_pace", {"rate": rate}).status_code == 400
    assert (Pace.now(), AuditEntry.objects.count()) == (4, 0)


@in_the_demo
@pytest.mark.parametrize("visitor", ["operators"], indirect=True)
def test_who_may_not_configure_sees_the_pace_and_cannot_set_it(visitor: Client) -> None:
    page = visitor.get("/ops/demo/").content.decode()
    assert "4 tasks a second" in page
    assert "Set the pace" not in page
    assert visitor.post("/ops/demo/_pace", {"rate": "25"}).status_code == 403
    assert visitor.get("/ops/demo/_pace").status_code == 405
    assert Pace.now() == 4


@in_the_demo
def test_the_page_needs_a_login_and_the_form_a_token(db: None) -> None:
    assert Client().get("/ops/demo/").headers["Location"] == "/ops/login/?next=%2Fops%2Fdemo%2F"
    assert Client(enforce_csrf_checks=True).post("/ops/demo/_pace", {"rate": "25"}).status_code == 403


def test_the_operator_is_an_administrator_of_the_console_and_no_superuser(db: None, tmp_path: Path) -> None:
    ensure_operator(tmp_path)
    User.objects.update(is_active=False, password="forgotten")
    ensure_operator(tmp_path)
    user = User.objects.get()
    assert (user.username, user.is_superuser, user.is_staff, user.is_active) == ("operator", False, False, True)
    assert user.check_password((tmp_path / "password").read_text().strip())
    assert (tmp_path / "password").stat().st_mode & 0o777 == 0o600


@in_the_demo
@pytest.mark.parametrize("visitor", ["operators"], indirect=True)
def test_the_page_leads_to_reports_and_to_the_runs_that_made_them(
    visitor: Client, namespace: str, settings: Any
) -> None:
    report = Report.objects.create(task="t", root="chain-1", text="<b>bars</b>")
    Digest.objects.create(first=1, last=10, verbs={"retry": 3}, people=1)
    settings.CONSOLE_PAGES = (("demo:demo", "d", "flame", "Demo"),)
    assert 'href="/ops/demo/"' in visitor.get("/ops/tasks/").content.decode()
    page = visitor.get("/ops/demo/").content.decode()
    assert f"/ops/demo/reports/{report.pk}/" in page
    assert "/ops/tasks/chain-1/children/" in page
    assert "Entries 1 to 10" in page
    assert "&lt;b&gt;bars" in visitor.get(f"/ops/demo/reports/{report.pk}/").content.decode()
    assert visitor.get("/ops/demo/reports/999/").status_code == 404
