"""A project of Celery forms, rewritten and run by a real worker on a real store: the outcomes are those of Celery."""

from __future__ import annotations

import importlib
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from queueops.migrate.command import main
from queueops.tasks import registry
from queueops.testing import run_worker

SHOP = Path(__file__).parent / "corpus" / "shop"
OUTCOMES = {
    "delay": 3,
    "args": 4,
    "kwargs": 11,
    "chain": 14,
    "pipe": 6,
    "group": [0, 2, 4],
    "chord": 6,
    "chord2": 21,
    "flaky": 2,
    "fetch": "a after 2",
    "links": 3,
    "headers": {"user": "ada"},
    "signature": {"user": "bob"},
    "slow": "in time",
}


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The module of the rewritten project."""
    package = tmp_path / "migrated_shop"
    package.mkdir()
    (package / "__init__.py").touch()
    shutil.copy(SHOP / "tasks.txt", package / "tasks.py")
    assert main(["celery", str(tmp_path), "--write"]) == 0
    monkeypatch.syspath_prepend(str(tmp_path))
    before = set(registry.handlers())
    yield importlib.import_module("migrated_shop.tasks")
    for name in [name for name in sys.modules if name.startswith("migrated_shop")]:
        del sys.modules[name]
    for kind, name in set(registry.handlers()) - before:
        registry.unregister(kind, name)


def test_the_rewritten_forms_of_celery_have_the_same_outcomes(shop, namespace):
    results = shop.pushed()
    run_worker(pools=["default", "mail"])
    assert {name: results[name].result(timeout=0) for name in OUTCOMES} == OUTCOMES
    for name, attempts in (("fails", 1), ("exhausted", 4)):
        assert (results[name].state, results[name].status().attempt) == ("failed", attempts)
    assert results["exhausted"].status().error_type == "OSError"
    assert sorted(shop.alerts) == ["added", "failed"]
    assert shop.waited(run_worker) == (3, 6, True, True, False)


def test_the_module_of_the_rewritten_project_needs_no_celery(shop):
    text = Path(shop.__file__).read_text()
    assert "import" in text
    assert "celery" not in text.replace("as Celery has them", "").replace("Celery retries nothing", "").lower()
