"""A store that refuses writes, for its disk is full or its replicas are away: what only reads still answers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from io import StringIO
from pathlib import Path
from shutil import rmtree
from typing import Any

import pytest
from django.core.management import call_command

from queueops.errors.refusals import WritesRefused
from queueops.redis.broker import close_brokers
from queueops.results import waiting
from tests.faults import tasks
from tests.faults.conftest import Bench, use
from tests.support import topology
from tests.support.questions import QUESTIONS, missing, refused
from tests.support.specimens import SICK, specimens
from tests.support.waiting import wait_until

pytestmark = pytest.mark.faults
COMMANDS = (
    "status",
    "list",
    "tasks",
    "workers",
    "errors",
    f"pool {SICK}",
    f"fsck --pool {SICK}",
    f"why n --pool {SICK}",
)


REPLICAS, DISK = "NOREPLICAS", "MISCONF"


@pytest.fixture(params=[REPLICAS, DISK])
def reason(request: pytest.FixtureRequest, bench: Bench, tmp_path: Path, settings: Any) -> Iterator[str]:
    """Why a server refuses writes that has something of everything: it has no replica, or it could not save."""
    node = topology.Node(tmp_path / "server", "appendonly yes")
    with topology.ended(node):
        use(bench, settings, f"redis://{topology.HOST}:{node.port}")
        with specimens():
            if request.param == REPLICAS:
                node.client.function_flush()  # a server without the library gets scripts, as it refuses to load it
                node.client.config_set("min-replicas-to-write", 1)
            else:
                rmtree(tmp_path / "server")
                node.client.config_set("save", "3600 1")
                node.client.bgsave()
                wait_until(lambda: node.client.info("persistence")["rdb_last_bgsave_status"] == "err")
            yield request.param
            node.client.config_set("min-replicas-to-write", 0)
            node.client.config_set("stop-writes-on-bgsave-error", "no")
        bench.finish()
        waiting.close()
        close_brokers()


def test_every_question_has_an_example() -> None:
    assert missing() == set()


def test_a_push_is_refused_with_the_reason_and_what_to_do(reason: str) -> None:
    with pytest.raises(WritesRefused) as refused:
        tasks.work.push()
    assert reason in refused.value.reason
    assert {REPLICAS: "min-replicas-to-write", DISK: "the space on its disk"}[reason] in str(refused.value)
    assert "Nothing was written" in str(refused.value)


@pytest.mark.usefixtures("reason")
def test_every_question_is_answered() -> None:
    without = {name: ask for name, ask in QUESTIONS.items() if name != "tail"}  # the store is told who follows events
    assert refused(without) == {}


@pytest.mark.usefixtures("reason")
@pytest.mark.django_db
def test_every_command_that_only_reads_answers() -> None:
    assert refused({line: partial(call, line) for line in COMMANDS}) == {}


def call(line: str) -> None:
    with suppress(SystemExit):  # it ends with 1 while anything is wrong
        call_command("queue", *line.split(), stdout=StringIO())
