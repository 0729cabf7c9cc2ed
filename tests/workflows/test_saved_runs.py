"""Histories as files: `queue run ID --export` writes one, `checkworkflows --histories` replays them without a store."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management.base import CommandError

from queueops import activity, current, wf, workflow
from queueops.testing import run_worker
from tests.workflows.test_checkworkflows import answer
from tests.workflows.test_cli import queue

pytestmark = pytest.mark.django_db
LARGE = "x" * 20_000
steps = {"other": False}


@activity(name="saved.text")
def text(size: int) -> str:
    """A text."""
    return "x" * size


@workflow(name="saved.reads")
async def reads(size: int) -> str:
    """Reads a large result, a signal, its metadata, and a random number; the test changes what it calls then."""
    found = await wf.call(text, size)
    word = await wf.signal("go")
    wf.set_status([current().meta["tenant"], wf.info().instance])
    if steps["other"]:
        await wf.sleep(60)
    await wf.call(text, len(found) + len(word) + wf.random().randrange(1000))
    return "fine"


@pytest.fixture(autouse=True)
def _as_first() -> Any:
    steps["other"] = False
    yield
    steps["other"] = False


@pytest.fixture
def saved(namespace: str, tmp_path: Path) -> Path:
    """The folder with the file of a run."""
    run = reads.using(id="order-7", meta={"tenant": "a"}).start(len(LARGE))
    run_worker()
    run.signal("go", "now")
    run_worker()
    assert run.result(timeout=0) == "fine"
    (tmp_path / "order-7.json").write_text(queue("run", "order-7", "--export"))
    (tmp_path / "readme.txt").write_text("not a run")
    return tmp_path


@pytest.fixture
def _no_store(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No store can be reached."""
    monkeypatch.setattr("queueops.redis.broker.get_broker", None)
    monkeypatch.setattr("queueops.kinds.workflows.code_check.replay_check.get_run_store", None)


@pytest.mark.usefixtures("_no_store")
def test_a_file_is_replayed_without_a_store(saved: Path) -> None:
    assert LARGE in (saved / "order-7.json").read_text()
    status, said = answer("saved.reads", "--histories", str(saved))
    assert (status, said.splitlines()[-1]) == (0, "0 findings in the source. 1 runs replayed, 0 differ.")


@pytest.mark.usefixtures("_no_store")
def test_code_that_does_not_repeat_the_history_of_a_file_is_a_finding(saved: Path) -> None:
    steps["other"] = True
    status, said = answer("saved.reads", "--histories", str(saved), "--json")
    (replay,) = json.loads(said)["replays"]
    assert status == 1
    assert "Recorded: call number 2 saved.text" in replay["reason"]
    assert "Done now: timer number 2" in replay["reason"]


@pytest.mark.usefixtures("_no_store")
def test_a_file_of_another_workflow_is_left_out_and_one_without_code_is_told(saved: Path) -> None:
    assert "0 runs replayed" in answer("wf.approval", "--histories", str(saved))[1]
    other = json.loads((saved / "order-7.json").read_text()) | {"name": "saved.gone"}
    (saved / "order-7.json").write_text(json.dumps(other))
    assert "no workflow of this code has its name" in answer("--histories", str(saved))[1]


@pytest.mark.parametrize("data", ["{", "{}", '{"run": 7}'])
def test_a_file_that_is_no_run_says_how_to_write_one(tmp_path: Path, data: str) -> None:
    (tmp_path / "a.json").write_text(data)
    with pytest.raises(CommandError, match=r"a\.json is not an exported run: .*queue run ID --export"):
        answer("--histories", str(tmp_path))


def test_a_folder_without_files_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"\*\.json is not an exported run: there is none"):
        answer("--histories", str(tmp_path / "none"))


def test_only_show_takes_export(saved: Path) -> None:
    with pytest.raises(CommandError, match="Only show takes --export"):
        queue("run", "order-7", "cancel", "--export", "--yes")
