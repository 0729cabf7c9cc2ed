"""Catalogs: each message of the sources is translated in each of them, and what is compiled is what is written."""

from __future__ import annotations

import os
from io import BytesIO
from pathlib import Path

import pytest
from babel.messages.catalog import Catalog
from babel.messages.mofile import read_mo

from tests.repository import catalogs

LANGUAGES = pytest.mark.parametrize("path", catalogs.catalogs().values(), ids=catalogs.catalogs())
AGAIN = "write: python -m tests.repository.catalogs"


@pytest.mark.skipif(
    not catalogs.HAS_XGETTEXT and not os.environ.get("CI"), reason="there is no xgettext; install GNU gettext"
)
def test_each_catalog_has_the_messages_of_the_sources_and_no_others() -> None:
    found = catalogs.extracted()
    for path in catalogs.catalogs().values():
        header = path.read_text().partition("\n\n")[0]
        assert path.read_text() == catalogs.written(catalogs.merged(catalogs.read(path), found), header), AGAIN


@LANGUAGES
def test_each_message_is_translated_with_its_placeholders_and_tags(path: Path) -> None:
    assert list(catalogs.faults(catalogs.read(path))) == []


@LANGUAGES
def test_a_compiled_catalog_is_up_to_date(path: Path) -> None:
    made = read_mo(BytesIO(catalogs.compiled(path)))
    texts = [{key: each.string for key, each in catalogs.entries(catalog).items()} for catalog in (made, kept(path))]
    assert texts[0] == texts[1], AGAIN


def kept(path: Path) -> Catalog:
    with path.with_suffix(".mo").open("rb") as file:
        return read_mo(file)


def test_a_fault_of_an_entry_is_found() -> None:
    catalog = Catalog()
    catalog.add(("%(n)s task", "%(n)s tasks"), ("ein Task", "%(n)s Tasks"))  # one of both has no number
    catalog.add("in %(span)s", "in %(spann)s")
    catalog.add("Held", "")
    catalog.add("Save", "Speichern", flags=["fuzzy"])
    catalog.add("<b>%(n)s</b> more", "%(n)s weitere")
    catalog.add("waits ", "wartet")
    catalog.add("%(share)s%% of %(all)s", "%(share)s %% von %(all)s")
    assert [fault.split(": ")[1].split(" -> ")[0] for fault in catalogs.faults(catalog)] == [
        *("'%(n)s task'", "'in %(span)s'", "'Held'", "'Save'", "'<b>%(n)s</b> more'", "'waits '"),
    ]
