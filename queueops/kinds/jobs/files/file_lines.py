"""Lines of `manage.py jobs files`: stored files, the deletion queue, and what came of an action on files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from django.core.management.base import CommandError

from queueops import control, inspect
from queueops.management.queue import audit
from queueops.management.queue.formatting import counted, to_json

REFUSED = "it is neither in the queue nor the file of a job"
DEFAULT_POOL = "default"
STORED = ("path", "pool", "job", "aggregation", "size", "mime_type", "stored_ms", "deleted_ms")
QUEUED = ("path", "pool", "job", "why", "due_ms", "tries", "error")


def file_lines(**given: Any) -> Iterator[str]:
    """List files, one a line; or delete or keep the named ones. Raises CommandError if one was not changed."""
    if given["delete"] or given["keep"]:
        yield from _acted(given)
        return
    is_queue = given["queue"] or given["failed"]
    rows, columns = (_queued(given), QUEUED) if is_queue else (_stored(given), STORED)
    for row in rows:
        facts = {name: getattr(row, name) for name in columns}
        yield (
            to_json(facts) if given["as_json"] else "\t".join(str(fact) for fact in facts.values() if fact is not None)
        )


def _queued(given: Mapping[str, Any]) -> Iterator[Any]:
    after = ""
    while True:
        page = inspect.file_deletions(given["pool"], after, 200, failed=given["failed"])
        yield from page.rows
        if not (after := page.next):
            return


def _stored(given: Mapping[str, Any]) -> Iterator[Any]:
    after = ""
    while True:
        page = inspect.stored_files(given["pool"], after, 200)
        yield from page.rows
        if not (after := page.next):
            return


def _acted(given: Mapping[str, Any]) -> Iterator[str]:
    pool, missed = given["pool"] or DEFAULT_POOL, 0
    for verb, paths in (("delete_file", given["delete"]), ("keep_file", given["keep"])):
        act_on = control.delete_file if verb == "delete_file" else control.keep_file
        for path in paths:
            with audit.recorded(verb=verb, target=path, pool=pool) as act:
                done = act_on(path, pool)
                act.changed = int(done)
                act.refused = "" if done else REFUSED
            missed += not done
            word = ("to be deleted" if verb == "delete_file" else "kept") if done else "not changed"
            yield to_json({"file": path, "word": word}) if given["as_json"] else f"{path}: {word}"
    if missed:
        raise CommandError(f"{counted(missed, 'file was', 'files were')} not changed.")
