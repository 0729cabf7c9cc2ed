"""Jobs: work that other systems hand in. Each aggregation has its own limit, and the outcome goes to a callback."""

from __future__ import annotations

from typing import Any

from queueops.model.kind import Kind, Work


class JobsWork(Work):
    own = ("file_deletion",)
    names = ("callback", "delete_files", "download")

    def handlers(self) -> Any:
        from queueops.kinds.jobs import handlers

        return handlers

    def start(self) -> Any:
        from queueops.kinds.jobs.start import prepare

        return prepare

    def facts(self) -> Any:
        from queueops.kinds.jobs.worker_facts import facts

        return facts

    def closed(self) -> Any:
        from queueops.kinds.jobs.disk_guard import closed_lanes

        return closed_lanes


class JobsKind(Kind):
    name = "jobs"
    records = ("job", "callback", "file_deletion")
    keys = {
        "api:<token>": "string",
        "circuits": "hash",
        "circuits:waiting": "zset",
        "counted:<process>": "string",
        "files": "zset",
        "files:notes": "hash",
        "full_disks": "hash",
        "job_counts": "hash",
        "lane:<lane>#jobs": "set",
    }
    console = "console.kinds.jobs.registration:PAGES"
    work = JobsWork()

    def fields(self) -> Any:
        from queueops.kinds.jobs.fields import FIELDS

        return FIELDS

    def outbox(self) -> Any:
        from queueops.kinds.jobs.outbox import FORMS

        return FORMS

    def store(self) -> Any:
        from queueops.kinds.jobs.store import JobCalls

        return JobCalls

    def control(self) -> Any:
        from queueops.kinds.jobs import control

        return control

    def inspect(self) -> Any:
        from queueops.kinds.jobs import inspect

        return inspect

    def details(self) -> Any:
        from queueops.kinds.jobs.details import DETAILS

        return DETAILS

    def why(self) -> Any:
        from queueops.kinds.jobs import why

        return why

    def settings(self) -> Any:
        from queueops.kinds.jobs.settings import read_settings

        return read_settings

    def checks(self) -> Any:
        from queueops.kinds.jobs.checks import check_jobs

        return check_jobs


KIND = JobsKind()
