"""The tables of settings in ``docs/``: each default that a page states is the default of the code."""

from __future__ import annotations

import ast
import re
from typing import Any

from queueops import conf
from queueops.kinds.jobs import settings as jobs
from queueops.kinds.workflows import settings as workflows
from tests.repository.examples import DOCS

ROW = re.compile(r"^\| `(\w+)` \| (.*?) \| ", re.MULTILINE)
UNITS = {"s": 1, "day": 86_400, "days": 86_400, "MiB": 1024**2, "GiB": 1024**3}
IN_WORDS = {"RETENTION", "TRANSACTIONS", "REDACT", "DOWNLOAD_URL", "PARTIAL_DIRECTORY", "CIRCUIT_KEY"}
"""Settings whose default a page describes; it is no value."""


def stated(page: str) -> dict[str, Any]:
    """The defaults that the tables of a page have, as values of the settings."""
    rows = ROW.findall((DOCS / page).read_text())
    return {key: _value(cell) for key, cell in rows if key.isupper() and key not in IN_WORDS}


def _value(cell: str) -> Any:
    number = re.fullmatch(r"([\d,]+)(?: (\w+))?", cell)
    if number:
        return int(number[1].replace(",", "")) * UNITS[number[2] or "s"]
    return ast.literal_eval(cell.strip("`"))


def test_the_pages_state_the_defaults_of_the_code() -> None:
    found, of_jobs = stated("settings.md"), stated("jobs.md")
    assert found.pop("STORES") == conf.Settings().stores
    assert found.keys() | IN_WORDS >= conf.READERS.keys()
    assert of_jobs.keys() | IN_WORDS >= jobs.READERS.keys()
    assert jobs.read_settings(found.pop("JOBS")) == jobs.DEFAULTS
    assert workflows.read_settings(found.pop("WORKFLOWS")) == workflows.DEFAULTS
    for defaults, readers, values in ((conf.Settings(), conf.READERS, found), (jobs.DEFAULTS, jobs.READERS, of_jobs)):
        read = {key: readers[key](value) for key, value in values.items()}
        assert read == {key: getattr(defaults, key.lower()) for key in values}
