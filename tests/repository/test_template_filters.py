"""Filters and tags of the console with the name of one of Django's: without its load a template takes Django's."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.template.defaultfilters import register as of_django
from django.template.defaulttags import register as tags_of_django

from console.templatetags.console import register as of_console

TEMPLATES = Path(__file__).parents[2] / "templates"
FILTERS = [rf"\|{name}\b" for name in of_console.filters.keys() & of_django.filters.keys()]
TAGS = [rf"{{% {name}\b" for name in of_console.tags.keys() & tags_of_django.tags.keys()]


@pytest.mark.parametrize("use", sorted(FILTERS + TAGS))
def test_a_template_loads_what_it_means(use: str) -> None:
    texts = {path: path.read_text() for path in TEMPLATES.rglob("*.html")}
    using = {path: text for path, text in texts.items() if re.search(use, text)}
    assert using
    assert [path for path, text in using.items() if not re.search(r"{% load [^%]*\bconsole\b", text)] == []
