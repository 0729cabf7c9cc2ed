"""`manage.py checkworkflows`: may this code of workflows be deployed? The exit status tells a CI run."""

from __future__ import annotations

from argparse import ArgumentParser
from collections import Counter
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from queueops.errors import QueueOpsError
from queueops.kinds.workflows.code_check.replay_check import Replay, replayed, replays
from queueops.kinds.workflows.code_check.saved_run import SavedRun, read_all
from queueops.kinds.workflows.code_check.static_check import Finding, check_code
from queueops.kinds.workflows.definition import WorkflowHandler
from queueops.management.arguments import positive
from queueops.management.queue.formatting import printable, to_json
from queueops.management.queue.lookup import check_pool
from queueops.tasks import registry


class Command(BaseCommand):
    """Checks the code of workflows, and replays stored histories against it. Nothing is written."""

    help = (
        "Check the code of workflows: first its source, for clocks, randomness, input and output, threads and pushes;"
        " then replay the histories of stored runs. The exit status is 1 if there is a finding."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Which workflows, and which runs."""
        parser.add_argument("names", nargs="*", metavar="NAME", help="names of workflows; all, if none is given")
        parser.add_argument("--source-only", action="store_true", help="do not replay: needs no store")
        parser.add_argument(
            "--histories",
            type=Path,
            metavar="DIR",
            help="replay the runs of the *.json files that `queue run ID --export` wrote, not those of the store",
        )
        parser.add_argument("--pool", default="", help="replay the runs of this pool")
        parser.add_argument("--ended", action="store_true", help="replay runs that have ended, too")
        parser.add_argument("--most", type=positive, default=1_000, help="runs of each name (%(default)s)")
        parser.add_argument("--json", action="store_true", help="answer with one JSON object")

    def handle(self, *, names: list[str], **options: Any) -> None:
        """Check, print what was found, and end with the status."""
        findings = [finding for handler in _handlers(names) for finding in check_code(handler.name, handler.func)]
        found: list[Replay] = []
        left_out = Counter[str]()
        if options["histories"] is not None:
            found = [replayed(run) for run in _read(options["histories"]) if not names or run.name in names]
        elif not options["source_only"]:
            try:
                check_pool(options["pool"])
                limits = {"pool": options["pool"], "ended": options["ended"], "most": options["most"]}
                found = list(replays(names, **limits, left_out=left_out))
            except QueueOpsError as error:
                raise CommandError(str(error)) from error
        bad = [replay for replay in found if replay.reason]
        text = (_as_json if options["json"] else _as_text)(findings, found, bad, left_out)
        self.stdout.write(text)
        if findings or bad:
            raise SystemExit(1)


def _handlers(names: list[str]) -> list[WorkflowHandler]:
    known = {handler.name: handler for handler in registry.handlers().values() if isinstance(handler, WorkflowHandler)}
    for name in names:
        if name not in known:
            raise CommandError(f"No workflow is named {printable(name)!r}.")
    return [known[name] for name in names or sorted(known)]


def _read(directory: Path) -> list[SavedRun]:
    try:
        return list(read_all(directory))
    except QueueOpsError as error:
        raise CommandError(str(error)) from error


def _as_json(findings: list[Finding], found: list[Replay], bad: list[Replay], left_out: Counter[str]) -> str:
    return to_json(
        {
            "findings": [finding._asdict() for finding in findings],
            "replays": [replay._asdict() for replay in bad],
            "notes": [replay._asdict() for replay in found if replay.notes],
            "replayed": len(found),
            "changed": sum(replay.changed for replay in found),
            "left_out": left_out,
        }
    )


def _as_text(findings: list[Finding], found: list[Replay], bad: list[Replay], left_out: Counter[str]) -> str:
    lines = [printable(finding.told()) for finding in findings]
    lines += [printable(replay.told()) for replay in bad]
    lines += [printable(note) for replay in found for note in replay.told_notes()]
    changed = sum(replay.changed for replay in found)
    lines.append(f"{len(findings):,} findings in the source. {len(found):,} runs replayed, {len(bad):,} differ.")
    if changed:
        lines.append(f"{changed:,} of these runs began with other source.")
    for name, count in sorted(left_out.items()):
        lines.append(f"Not replayed: {count:,} more of {printable(name)}. A larger --most replays them.")
    return "\n".join(lines)
