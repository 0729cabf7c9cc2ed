"""The headers of every answer, and what the templates may not hold."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.template import defaultfilters
from django.test import Client
from django.utils.html import format_html
from django.utils.translation import gettext_lazy

from console.access.headers import HEADERS
from console.templatetags.console import register
from console.ui.markup import joined, markup
from queueops.model.sentences import say
from tests.console.standin import World
from tests.console.test_permissions import entry
from tests.console.walk import ADDRESSES, MUTATIONS, PAGES, Address, assert_protected, for_each_address
from tests.support.for_each import for_each

ROOT = Path(__file__).parents[2]
TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))
PYTHON = sorted(path for package in ("console", "queueops_demo") for path in (ROOT / package).rglob("*.py"))
MARKUP = ROOT / "console/ui/markup.py"


def test_the_headers_are_those_that_are_written_here() -> None:
    others = {name: value for name, value in HEADERS.items() if name != "Content-Security-Policy"}
    assert others == {
        "X-Frame-Options": "DENY",
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "same-origin",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cache-Control": "no-store, private",
    }


def test_the_policy_allows_nothing_inline_and_nobody_else() -> None:
    policy = dict(part.split(" ", 1) for part in HEADERS["Content-Security-Policy"].split("; "))
    assert policy["img-src"] == "'self' data:"
    assert policy["script-src"] == policy["style-src"] == policy["default-src"] == "'self'"
    assert policy["frame-ancestors"] == policy["object-src"] == policy["base-uri"] == "'none'"
    assert policy["form-action"] == "'self'"
    assert "unsafe" not in HEADERS["Content-Security-Policy"]
    assert "http" not in HEADERS["Content-Security-Policy"]


def test_a_template_with_a_filter_that_replaces_one_of_django_loads_it() -> None:
    replaced = "|".join({*register.filters} & {*defaultfilters.register.filters})
    uses, loads = re.compile(rf"\|(?:{replaced})\b"), re.compile(r"{% load [^%]*\bconsole\b")
    assert "cut" in replaced
    assert not [path.name for path in TEMPLATES if uses.search(text := path.read_text()) and not loads.search(text)]


@pytest.mark.django_db
def test_a_page_may_use_the_host_of_the_static_files_and_has_its_icons_from_here(
    world: World, operator: Client, settings: Any
) -> None:
    settings.STATIC_URL = "https://static.example:8443/site/"
    answer = operator.get("/ops/")
    page = answer.content.decode()
    policy = dict(part.split(" ", 1) for part in answer.headers["Content-Security-Policy"].split("; "))
    for name in ("script-src", "style-src", "img-src"):
        assert policy.pop(name).replace(" data:", "") == "'self' https://static.example:8443"
    assert not any("example" in sources for sources in policy.values())
    assert 'src="https://static.example:8443/site/console/built/console.js"' in page
    assert set(re.findall(r'<use href="([^"#]+)#', page)) == {"/ops/_icons"}
    icons = operator.get("/ops/_icons")
    assert icons.headers["Content-Type"] == "image/svg+xml"
    assert b'<symbol id="database"' in icons.content


@pytest.mark.django_db
@pytest.mark.parametrize("group", ["administrators", ""])
@for_each_address(one for one in ADDRESSES if one not in (*PAGES, *MUTATIONS))
def test_every_answer_has_the_headers(
    address: Address, group: str, world: World, client_of: Callable[..., Client]
) -> None:
    """The walks of ``test_permissions.py`` look at those of the pages and actions."""
    client = client_of(group)
    entry(client)
    for answer in (client.get(address.path), client.post(address.path, address.form), Client().get(address.path)):
        assert_protected(answer)


@pytest.mark.django_db
def test_also_where_there_is_nothing_and_where_redis_is_down(world: World, administrator: Client) -> None:
    for path in ("/ops/nothing/", "/ops/tasks/no-more/", "/ops/tasks/{bad}/", "/ops/errors/f99/"):
        if path.startswith("/ops/errors"):
            world.states.clear()
        answer = administrator.get(path)
        assert answer.status_code == 404
        assert_protected(answer)
    world.down = True
    answer = administrator.get("/ops/")
    assert answer.status_code == 503
    assert_protected(answer)


@pytest.mark.django_db
def test_the_page_of_a_broken_server_has_them_and_tells_nothing(
    world: World, administrator: Client, settings: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    from console.http.error_pages import server_error
    from queueops import inspect

    monkeypatch.setattr(inspect, "snapshot", lambda _age: 1 / 0)
    administrator.raise_request_exception = False
    answer = administrator.get("/ops/")
    assert answer.status_code == 500
    assert "Content-Security-Policy" in answer.headers
    assert "ZeroDivisionError" not in answer.content.decode()
    own = server_error(answer.wsgi_request)
    assert own.status_code == 500
    assert_protected(own)


@for_each("template", TEMPLATES)
def test_templates_hold_no_code_and_no_style(template: Path) -> None:
    text = template.read_text()
    assert not re.search(r"\|\s*safe\b|\bsafeseq\b|autoescape|mark_safe|<style|javascript:", text)
    assert not re.search(r"<script(?![^>]*\bsrc=)", text)
    assert not re.search(r"\sstyle\s*=|\son[a-z]+\s*=|hx-on|hx-vars|hx-vals|js:|every \d", text)
    assert "http://" not in text
    assert "https://" not in text


@for_each("path", [path for path in PYTHON if path != MARKUP])
def test_python_marks_nothing_as_safe_but_for_one_module(path: Path) -> None:
    assert not re.search(r"mark_safe|SafeString\(|escapejs|autoescape", path.read_text())


def test_markup_escapes_as_django_does() -> None:
    hostile = "<b title='\"'>&amp;</b>"
    for value in (
        hostile,
        7,
        None,
        gettext_lazy("<Lane>"),
        say("%(x)s <", x=hostile),
        format_html("<i>{}</i>", hostile),
    ):
        assert markup('<a id="{}">{name}</a>', value, name=value) == format_html('<a id="{0}">{0}</a>', value)
    assert joined([markup("<{}>", "b"), markup("{}", "<")]).__html__() == "<b>&lt;"


def test_htmx_is_told_to_run_nothing() -> None:
    text = (ROOT / "templates/console/base.html").read_text()
    for option in (
        '"allowEval":false',
        '"includeIndicatorStyles":false',
        '"selfRequestsOnly":true',
        '"allowScriptTags":false',
    ):
        assert option in text
