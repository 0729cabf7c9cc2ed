"""The pages of ``docs/``: what is generated is up to date, and the examples do what stands beside them."""

from __future__ import annotations

import os
import re
import shlex
import unittest
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from django.core.management import get_commands, load_command_class

from queueops import Chain, task, task_failed
from queueops.conf import read_settings
from queueops.conf.alert_settings import RULE
from queueops.management.queue.options import ALL, OWN_OPTIONS
from queueops.metrics.families import LOAD, NAME, POOL
from queueops.model import kinds, states
from queueops.testing import WorkflowEnvironment, eager, run_worker
from tests.repository.examples import DOCS, PYTHON, SAID, examples, executed
from tests.soak.incidents import INCIDENTS
from tests.soak.night import FAULTS
from tests.support.for_each import for_each
from tests.support.stored_records import records_of

pytest_plugins = ["queueops.pytest_plugin"]
ROOT = Path(__file__).parents[2]
LINK = re.compile(r"\]\(([^)#:]+\.md)(?:#([^)]+))?\)")
FILE = re.compile(r"`((?:queueops|console|static|templates|tests|docs|deploy|\.ci)/[\w./-]+)`")
COMMAND = re.compile(r"^manage\.py (.+)$", re.MULTILINE)
INLINE = re.compile(r"`manage\.py ((?:queue|jobs|runworker|watchdog|checkworkflows) [^`]+|watchdog|runworker)`")
GUIDES = sorted(f"guides/{path.name}" for path in (DOCS / "guides").glob("*.md"))


def test_the_table_of_states_in_the_docs_is_the_table_of_the_code():
    assert (DOCS / "states.md").read_text() == states.as_markdown(), (
        "run: python -m queueops.model.states > docs/states.md"
    )


@pytest.mark.django_db
@pytest.mark.usefixtures("own_tasks")
def test_the_examples_about_tasks_do_what_they_say():
    task(name="shop.tasks.bill")(lambda number, **_: number)  # an eager push needs its code
    with eager():
        names = executed("tasks.md")
        assert len(SAID.findall("".join(examples("tasks.md")))) > 10
        run = mock.Mock()
        assert names["Timing"](lambda _: "result")(run) == "result"
        assert "took 0." in run.log.call_args.args[0]


@pytest.mark.django_db
@pytest.mark.usefixtures("store", "own_tasks")
def test_the_examples_about_testing_pass(queueops_worker: Callable[..., int]):
    names = executed("testing.md")
    names["test_a_number_is_doubled"]()
    names["test_a_pushed_number_is_doubled"](queueops_worker)
    names["test_a_number_is_doubled_twice"]()
    for case in ("SignUpTest", "DoubleTest", "OrderTest"):
        found = unittest.defaultTestLoader.loadTestsFromTestCase(names[case]).run(unittest.TestResult())
        assert found is not None
        assert (found.testsRun, found.errors, found.failures) == (1, [], [])


@pytest.mark.usefixtures("own_tasks")
def test_the_examples_of_chains_groups_and_iterators_run():
    def pages(*chosen: Any, pk__gt: int = 0, **_: Any) -> mock.Mock:
        found = mock.Mock()
        found.order_by.return_value.values_list.return_value = [pk for pk in (1, 2, 3) if pk > pk__gt]
        return found

    words = ("fetch", "parse", "index", "notify", "a", "b", "collect", "draw", "send", "prepare")
    stubs = {word: task(name=f"docs.{word}")(lambda *args: list(args)) for word in words}
    order = mock.Mock()
    order.objects.filter = pages
    with eager() as broker:
        executed("composites.md", **stubs, url="a.html", CHARTS=["x", "y"], Order=order)
        ended = [(record.name, record.state) for record in records_of(broker)]
    assert {state for _, state in ended} == {"succeeded"}
    assert {"chain", "group", "docs_composites.Report", "docs_composites.Backfill"} <= {name for name, _ in ended}
    assert sum(name == "docs.index" for name, _ in ended) == 4


@pytest.mark.usefixtures("own_tasks", "namespace")
def test_the_examples_of_workflows_run():
    names = executed("workflows.md")
    names["test_an_order_is_approved"]()
    names["test_a_customer_who_forgets_is_reminded"]()
    env = WorkflowEnvironment()
    run = env.start(names["weighed_parcel"], "7")
    run.signal("address", "Main Street 1")
    assert run.result() == "label of 7, 700 g to Main Street 1"
    assert env.run(names["parcel"], "7") == "label of 7"
    assert [entry.kind for entry in names["handle"].history()] == []


@pytest.mark.usefixtures("own_tasks", "namespace")
def test_the_tutorial_of_workflows_needs_no_other_code():
    text = (DOCS / "workflows.md").read_text()
    names: dict[str, Any] = {"__name__": "shop.tasks"}
    for example in PYTHON.findall(text[text.index("## Tutorial") : text.index("## Words")]):
        exec(compile(example, "workflows.md", "exec"), names)
    names["test_a_customer_who_forgets_is_reminded"]()
    run_worker(until_idle=True)
    assert names["parcel_run"].result(timeout=0) == "label of 7"
    assert names["confirmed_run"].custom_status() == "waits for the customer"
    names["confirmed_parcel"].handle("parcel-8").signal("address", "Main Street 1")
    run_worker(until_idle=True)
    assert names["confirmed_run"].result(timeout=0) == "label of 8 to Main Street 1"


@pytest.mark.usefixtures("own_tasks")
def test_the_receiver_that_tells_of_failures_is_told(caplog: pytest.LogCaptureFixture):
    names = executed("production.md", without='QUEUEOPS["ALERTS"]')
    with eager():
        handle = task(name="docs.fails", retries=1)(lambda: [][0]).push()
    (told,) = [record for record in caplog.records if record.name == "shop.tasks"]
    assert told.getMessage() == f"docs.fails failed as {handle.id}"
    assert told.exc_info[0] is IndexError
    task_failed.disconnect(names["report"])


def test_the_example_of_alerts_is_valid_and_its_table_has_every_key_of_a_rule(monkeypatch: pytest.MonkeyPatch):
    for name, value in (
        ("PAGER_URL", "slack://a/b/c"),
        ("HOOK_URL", "https://hook.example"),
        ("HOOK_SECRET", f"whsec_{'A' * 32}"),
        ("HEARTBEAT_URL", "https://beat.example"),
    ):
        monkeypatch.setenv(name, value)
    (example,) = (each for each in examples("production.md") if 'QUEUEOPS["ALERTS"]' in each)
    names: dict[str, Any] = {"QUEUEOPS": {}, "os": os}
    exec(example, names)
    settings, errors = read_settings(names["QUEUEOPS"])
    assert errors == []
    assert [rule.name for rule in settings.alerts.rules] == ["urgent", "billing"]
    assert set(re.findall(r"^\| `(\w+)` \|", (DOCS / "production.md").read_text(), re.MULTILINE)) >= set(RULE)


def test_the_table_of_metrics_has_every_metric():
    names = {f"queueops_{name}" for table in (POOL, LOAD, NAME) for name in table}
    assert set(re.findall(r"`(queueops_[a-z0-9_]+)`", (DOCS / "production.md").read_text())) >= names


@pytest.mark.usefixtures("own_tasks")
def test_the_example_of_a_map_reduce_runs():
    with eager():
        names = executed("mapreduce.md", pages_of=lambda path: [f"{path} a", "b c d"])
        assert names["handle"].result() == {"words": 5, "unread": 0}


@pytest.mark.usefixtures("store", "own_tasks", "queueops")
def test_the_examples_of_schedules_run():
    reports = type("Report", (Chain,), {"init": lambda self: [], "__module__": __name__})
    names = executed("schedules.md", Report=reports)
    assert [each.id for each in names["schedules"].list()] == ["reports"]


@pytest.mark.usefixtures("own_tasks")
def test_the_examples_for_those_who_come_from_celery_do_what_they_say():
    with eager():
        executed("coming-from-celery.md")
    assert len(SAID.findall("".join(examples("coming-from-celery.md")))) > 2


@pytest.mark.parametrize("page", ["command-line.md", "workers.md"])
def test_every_command_in_the_docs_can_be_given(page: str):
    lines = COMMAND.findall((DOCS / page).read_text())
    assert lines
    for line in lines:
        name, *words = shlex.split(line, comments=True)
        parser = load_command_class(get_commands()[name], name).create_parser("manage.py", name)
        parser.parse_args(words)  # it exits where the words are wrong


ALARM_KEY = re.compile(r'\bkey"?[=:] ?f?"([a-z-]+)(?=[ "])')
"""The first word of the key of an alarm in a source."""


@for_each("page", ["runbook.md", "upgrade.md", "start.md", *GUIDES])
def test_every_command_in_a_sentence_can_be_given(page: str):
    for line in INLINE.findall((DOCS / page).read_text()):
        name, *words = shlex.split(line)
        parser = load_command_class(get_commands()[name], name).create_parser("manage.py", name)
        parser.parse_args(words)


def test_the_runbook_has_the_key_of_each_alarm():
    alarms = (DOCS / "runbook.md").read_text().partition("## No alarm")[0]
    sections = re.split(r"^### ", alarms, flags=re.MULTILINE)[1:]
    keys = [re.findall(r"`([a-z-]+)", each.partition("**Key:**")[2]) for each in sections]
    assert all(keys)
    sources = [*(ROOT / "queueops/inspect").glob("*.py"), *(ROOT / "queueops/kinds").glob("*/alarms.py")]
    made = {kind for path in sources for kind in ALARM_KEY.findall(path.read_text())}
    assert len(made) > 30
    assert made - {kind for each in keys for kind in each} == set()


def verbs_of_queue(page: Path) -> set[str]:
    lines = COMMAND.findall(page.read_text())
    return {line.split()[1] for line in lines if line.startswith("queue ")}


def test_every_verb_of_queue_has_an_example():
    shown = {path.name: verbs_of_queue(path) for path in DOCS.rglob("*.md")}
    own = {command.name: kind.name for kind in kinds.KINDS for command in kind.cli() or ()}
    own |= {command.name: "" for command in OWN_OPTIONS}
    in_other_pages = {name for name, kind in own.items() if kind == "workflows"}
    assert shown["command-line.md"] == {*ALL, *own} - in_other_pages
    assert set().union(*shown.values()) == {*ALL, *own}


@for_each("page", ["README.md", *(str(path.relative_to(ROOT)) for path in sorted(DOCS.rglob("*.md")))])
def test_every_link_between_pages_leads_somewhere(page: str):
    for target, part in LINK.findall((ROOT / page).read_text()):
        found = (ROOT / page).parent / target
        assert found.is_file(), f"{page} leads to {target}"
        assert not part or part in anchors(found), f"{page} leads to {target}#{part}"


def test_every_file_that_a_page_names_is_there():
    pages = [*DOCS.rglob("*.md"), *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "tests/README.md"))]
    named = {(page.name, path) for page in pages for path in FILE.findall(page.read_text())}
    assert len(named) > 50
    assert sorted(pair for pair in named if not (ROOT / pair[1]).exists()) == []
    scripts = {path.name for path in (ROOT / "queueops").rglob("*.lua")}
    assert set(re.findall(r"\b\w+\.lua\b", (DOCS / "architecture.md").read_text())) <= scripts


def anchors(page: Path) -> set[str]:
    """The headings of a page as links name them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_the_table_of_alarms_has_each_fault_of_the_drill() -> None:
    faults = (*FAULTS, *INCIDENTS)
    (table,) = re.findall(r"^\| fault \|.*\n\|[-|]+\n((?:\|.*\n)+)", (DOCS / "console.md").read_text(), re.MULTILINE)
    rows = [[cell.strip() for cell in row.strip("|").split("|")] for row in table.splitlines()]
    assert [row[0] for row in rows] == [fault.name for fault in faults]
    assert all(int(row[2]) == len(fault.why) for row, fault in zip(rows, faults, strict=True))
    assert all(int(row[1].partition(",")[0]) <= 20 and int(row[3]) <= 2 for row in rows)


@pytest.mark.parametrize("page", ["command-line.md", "index.md", "states.md"])
def test_the_sentences_of_these_pages_have_at_most_twenty_words(page: str):
    prose = re.sub(r"```.*?```|^#.*?$", "", (DOCS / page).read_text(), flags=re.DOTALL | re.MULTILINE)
    texts = [cell for block in re.split(r"\n\n|(?<=\|)\n", prose) for cell in re.split(r"\|", block)]
    sentences = [found for text in texts for found in re.split(r"(?<=[.!?])\s+(?=[A-Z0-9`(])", text)]
    shown = [re.sub(r"`[^`]*`", "code", re.sub(r"\]\([^)]*\)", "]", found)) for found in sentences]
    assert [found for found in shown if len(re.findall(r"[\w'’-]+", found)) > 20] == []
