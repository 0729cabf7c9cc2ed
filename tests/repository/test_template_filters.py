"""Filters of the console with the name of one of Django's: a template that does not load them would take Django's."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.template.defaultfilters import register as of_django

from console.templatetags.console import register as of_console

TEMPLATES = Path(__file__).parents[2] / "templates"
SHARED = sorted(of_console.filters.keys() & of_django.filters.keys())


@pytest.mark.parametrize("name", SHARED)
def test_a_template_loads_the_filter_that_it_means(name: str) -> None:
    texts = {path: path.read_text() for path in TEMPLATES.rglob("*.html")}
    using = {path: text for path, text in texts.items() if re.search(rf"\|{name}\b", text)}
    assert using
    assert [path for path, text in using.items() if not re.search(r"{% load [^%]*\bconsole\b", text)] == []
