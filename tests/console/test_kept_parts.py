"""Kept parts of pages: rendered once, and again for each other value, language, place of the URLs and icon sprite."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.template import engines
from django.test import Client
from django.urls import set_script_prefix
from django.utils import translation
from django.utils.html import format_html

from console.ui.kept_parts import kept
from tests.console.standin import World

pytestmark = pytest.mark.django_db
PARTS = {"console/partials/navigation.html", "console/partials/help_dialog.html", "console/partials/keys.html"}
PROBE = """
{% load i18n console %}{% translate "yes,no,maybe" %} {% url "console:help" %} {% icon "x" %} {{ text }}{{ request }}
""".strip()


@pytest.fixture
def probe(settings: Any, tmp_path: Path) -> Callable[..., str]:
    """Renders a part that shows all that a part may depend on."""
    (tmp_path / "probe.html").write_text(PROBE)
    settings.TEMPLATES = [settings.TEMPLATES[0] | {"DIRS": [tmp_path]}]
    return lambda **values: kept("probe.html", **values)


def rendered(client: Client, page: str) -> set[str | None]:
    return {template.name for template in client.get(f"/ops/{page}").templates}


def test_the_next_page_renders_no_kept_part_again(world: World, administrator: Client, viewer: Client) -> None:
    first = administrator.get("/ops/settings/").content.decode()
    assert not rendered(administrator, "settings/") & PARTS
    assert not rendered(viewer, "settings/") & PARTS
    assert first.count("<nav") == first.count('<dialog id="help"') == 1


def test_each_page_marks_its_own_link(world: World, administrator: Client) -> None:
    for page in ("tasks", "errors", "tasks"):
        navigation = administrator.get(f"/ops/{page}/").content.decode().partition("</nav>")[0]
        assert f'<a href="/ops/{page}/" data-go="{page[0]}" aria-current="page">' in navigation
        assert navigation.count("aria-current") == 1


def test_a_part_is_rendered_once_for_the_same_values(probe: Callable[..., str]) -> None:
    assert probe(text="a") is probe(text="a")
    assert probe(text="a") != probe(text="b")


def test_a_part_has_the_language_of_the_page(probe: Callable[..., str]) -> None:
    assert probe().startswith("yes,")
    with translation.override("de"):
        assert probe().startswith("Ja,")
    assert probe().startswith("yes,")


def test_a_text_of_a_template_has_the_language_of_the_page() -> None:
    texts = '{% translate "Overview" %} {% translate "Tasks" as name %}{{ name }} {% translate "Errors"|upper %}'
    template = engines["django"].from_string("{% load i18n console %}" + texts)
    for _ in range(2):
        assert template.render() == "Overview Tasks ERRORS"
        with translation.override("de"):
            assert template.render() == "Übersicht Tasks FEHLER"


def test_the_charts_are_made_once_for_each_time_zone(world: World, administrator: Client) -> None:
    seen = [charts in rendered(administrator, "?range=24h") for charts in ["console/history/charts.html"] * 3]
    assert seen[1:] == [False, False]
    administrator.cookies["queueops_zone"] = "Asia/Kathmandu"
    assert "console/history/charts.html" in rendered(administrator, "?range=24h")


def test_charts_are_kept_for_a_few_minutes_alone(world: World, administrator: Client) -> None:
    for number in (*range(20), 0):
        administrator.cookies["queueops_zone"] = f"Etc/GMT-{number}" if number < 14 else f"Etc/GMT+{number - 12}"
        made = rendered(administrator, "?range=24h")
        assert "console/history/charts.html" in made, "16 of them are in memory"
    assert not made & PARTS, "small parts stay"


def test_a_part_has_the_urls_of_the_page(probe: Callable[..., str]) -> None:
    assert " /ops/help/ " in probe()
    set_script_prefix("/mounted/")
    try:
        assert " /mounted/ops/help/ " in probe()
    finally:
        set_script_prefix("/")
    assert " /ops/help/ " in probe()


def test_a_part_has_the_icon_sprite_of_the_page(probe: Callable[..., str], settings: Any) -> None:
    assert '"/static/vendor' in probe()
    settings.STATIC_URL = "/static2/"
    assert '"/static2/vendor' in probe()


def test_text_is_escaped_even_if_html_of_the_same_letters_was_kept(probe: Callable[..., str]) -> None:
    assert probe(text=format_html("<b>{}</b>", "x")).endswith("<b>x</b>")
    assert probe(text="<b>x</b>").endswith("&lt;b&gt;x&lt;/b&gt;")
