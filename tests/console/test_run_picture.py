"""The picture of a run on its page: each command and signal after what it waited for, with folded repeats."""

from __future__ import annotations

import asyncio
import re

from django.test import Client

from console.diagram.graph import Arrow, Box
from console.kinds.workflows.run_graph import layers_of
from console.kinds.workflows.run_picture import picture
from queueops import inspect, wf, workflow
from queueops.inspect import RunLine, RunSpan, RunView
from queueops.kinds.workflows.handle import WorkflowHandle
from queueops.testing import run_worker
from tests.workflows.test_runs import add, add_slowly, sums


@workflow(name="wf.saga")
async def saga() -> int:
    """Two calls that wait for a call and a signal, and one call after both."""
    first = await wf.call(add, 1, 1)
    async with asyncio.timeout(60):
        await wf.signal("approve")
    found = await asyncio.gather(wf.call(add, first, 1), wf.call(add, 1, 2))
    return await wf.call(add_slowly, len(found), 1)


@workflow(name="wf.rounds")
async def rounds(count: int) -> None:
    """A loop of two calls, then one of one call."""
    for number in range(count):
        await wf.call(add, number, 1)
        await wf.call(add_slowly, number, 1)
    for number in range(count - 2):
        await wf.call(add, number, 2)
    await wf.sleep(3600)


def shown(run: WorkflowHandle[int]) -> dict[str, tuple[str, bool, list[str]]]:
    """By name: the words, whether it is critical, and where the arrows to it come from, on a wide screen."""
    view = inspect.workflow_run(run.id)
    assert view is not None
    drawn = picture(view, "default")
    assert drawn is not None
    graph = drawn.graphs[0]
    boxes = [shape for shape in graph.shapes if isinstance(shape, Box)]
    return {
        f"{box.number}{box.name}": (
            box.words.partition(" · ")[0],
            box.critical,
            sorted(_sources(box, boxes, graph.arrows)),
        )
        for box in boxes
    }


def _sources(box: Box, boxes: list[Box], arrows: tuple[Arrow, ...]) -> list[str]:
    to = [arrow for arrow in arrows if arrow.x2 == box.x and box.y < arrow.y2 < box.y + 50]
    return [each.name for arrow in to for each in boxes if (each.x + each.width, each.y + 25) == (arrow.x1, arrow.y1)]


def test_commands_at_once_are_one_box_and_what_waited_for_them_is_after_it(namespace: str, viewer: Client) -> None:
    run = sums.start(5)
    run_worker()
    assert shown(run) == {"5 × wf.add": ("5 done", True, []), "wf.aadd": ("activity", True, ["wf.add"])}
    page = viewer.get(f"/ops/tasks/{run.id}/run/").content.decode()
    wide = page.split("graph-narrow")[0]
    assert re.findall(r'graph-box[^>]+href="([^"]+)"', wide)[0] == "#history-2"
    assert "5 × wf.add: 5 done" in wide


def test_what_waited_for_a_signal_and_a_call_has_arrows_from_both(namespace: str) -> None:
    run = saga.start()
    run_worker()
    run.signal("approve")
    run_worker()
    found = shown(run)
    assert found["approve"] == ("signal", True, [])
    assert found["timer"] == ("dropped", False, ["wf.add"])  # of the timeout
    assert found["wf.aadd"][1:] == (True, ["wf.add", "wf.add"])
    view = inspect.workflow_run(run.id)
    assert view is not None
    (second, third) = layers_of(view)[1][1:]
    assert [[need.spans[0].name for need in node.needs] for node in (second, third)] == [["wf.add", "approve"]] * 2


def test_the_rounds_of_a_loop_are_one_round(namespace: str) -> None:
    run = rounds.start(6)
    run_worker()
    assert shown(run) == {
        "6 × wf.add": ("6 done", True, []),
        "6 × wf.aadd": ("6 done", True, ["wf.add"]),
        "4 × wf.add": ("4 done", True, ["wf.aadd"]),
        "timer": ("open", True, ["wf.add"]),
    }


def test_a_page_that_only_drops_earlier_commands_has_no_picture() -> None:
    spans = tuple(RunSpan(number=number, ended_ms=1, outcome="dropped") for number in (1, 2))
    lines = tuple(RunLine(number=200 + span.number, kind="drop", command=span.number) for span in spans)
    assert picture(RunView(instance="a", lines=lines, spans=spans), "default") is None


def test_a_run_of_one_command_has_no_picture(namespace: str, viewer: Client) -> None:
    run = sums.start(0)
    run_worker()
    assert "graph-box" not in viewer.get(f"/ops/tasks/{run.id}/run/").content.decode()
