"""The demo's report by night and its way through the audit log: real rows, and something to mend."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from console.models import AuditEntry
from console.ui.entry_links import target_name
from queueops import control, inspect
from queueops.testing import run_worker
from queueops_demo.models import Digest, Report
from queueops_demo.tasks import auditing, nightly, reading
from queueops_demo.tasks.auditing import AuditDigest, night_shift
from queueops_demo.tasks.failing import share_out
from queueops_demo.tasks.nightly import NightlyReport

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def quick(namespace: str, settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing takes its time, no process holds the ledger, and files go where the test finds them."""
    settings.DEMO_STEP = 0
    settings.DATA = tmp_path
    monkeypatch.setattr(nightly, "CLOSED_FOR", 0)


def test_a_report_is_a_row_and_a_file(tmp_path: Path) -> None:
    for path in ("json/decoder.py", "json/encoder.py"):
        reading.count_words(path, tenant="tenant-1")
    handle = NightlyReport.push()
    run_worker()
    assert handle.state == "succeeded"
    report = Report.objects.get()
    assert report.root == handle.id
    assert "tenant-1: 2 files" in report.text
    assert "json/decoder.py" in report.text
    assert (tmp_path / "reports" / f"{report.pk:02}.txt").read_text() == report.text


def test_a_report_that_failed_at_the_ledger_is_mended_by_a_retry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nightly, "CLOSED_FOR", nightly.CLOSED_EVERY)
    handle = NightlyReport.push()
    run_worker()
    assert handle.state == "failed"
    assert not Report.objects.exists()
    tree = inspect.tree(handle.id, "default", show="failed").root
    assert tree is not None
    assert [row.task.state for row in tree.rows if row.task] == ["failed", "cancelled"]
    monkeypatch.setattr(nightly, "CLOSED_FOR", 0)
    control.retry([handle.id])
    assert run_worker() == 2  # the ledger and what comes behind
    assert handle.state == "succeeded"
    assert Report.objects.count() == 1


def test_only_so_many_reports_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nightly, "KEPT_REPORTS", 2)
    for _ in range(4):
        NightlyReport.push()
    run_worker()
    assert Report.objects.count() == 2
    assert len(list((tmp_path / "reports").iterdir())) == 2


def test_the_night_shift_mends_what_failed_a_while_ago_and_the_audit_log_tells(monkeypatch: pytest.MonkeyPatch) -> None:
    handle = share_out.using(retries=0).push(8, 0)
    run_worker()
    assert night_shift() == {}  # the user may want to repair it by hand
    monkeypatch.setattr(auditing, "PATIENCE_MS", -60_000)
    assert night_shift() == {"edit": 1}
    run_worker()
    assert handle.result() == 25
    entry = AuditEntry.objects.get()
    assert (entry.actor_name, entry.verb, entry.outcome, entry.changed) == ("night shift", "edit", "done", 1)
    assert (target_name(entry), entry.reason) == ("demo.share_out", auditing.REASON)
    share_out.using(retries=0).push(8, 0)
    run_worker()
    monkeypatch.setattr(auditing, "MOST_ENTRIES", 1)
    assert night_shift() == {}


def test_the_audit_log_is_read_in_pages_however_often() -> None:
    AuditEntry.objects.bulk_create(
        AuditEntry(actor_name="ada" if number % 2 else "bob", verb="retry", target=f"t{number}", outcome="done")
        for number in range(64)
    )
    for _ in range(2):
        handle = AuditDigest.push()
        run_worker()
        assert handle.state == "succeeded"
        assert (handle.progress.done, handle.progress.total) == (7, 7)
    assert [digest.verbs["retry"] for digest in Digest.objects.order_by("first")] == [10] * 6 + [4]
    assert {digest.people for digest in Digest.objects.all()} == {2}
