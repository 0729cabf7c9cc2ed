"""Work of every kind, with a marker in each value of the user."""

from __future__ import annotations

from collections.abc import Iterator as Several
from typing import Any

from queueops import Batch, Iterator, MapReduce, Results, Retry, activity, current, jobs, task, wf, workflow

MARKER = "Secret-Marker"
"""What may be nowhere in the store."""


def marked(what: str) -> str:
    """A value of the user. Quotes, a backslash and a line end need an escape in JSON."""
    return f'{MARKER} "{what}" \\ é\n'


class Trouble(Exception):
    """An error of a project."""


@task(name="sealed.echo")
def echo(*values: Any, **named: Any) -> Any:
    """Logs and returns what it was given."""
    current().log(marked("log"))
    return [list(values), named, current().meta]


@task(name="sealed.fails", retries=1, retry=Retry(delay=0))
def fails(value: str) -> None:
    """Fails twice."""
    raise Trouble(marked("error"))


LONG = 'é"' * 900
"""A message that is longer, when encrypted, than what lists show of a value."""


@task(name="sealed.fails-long", retries=0)
def fails_long() -> None:
    """Fails with a long message."""
    raise Trouble(LONG)


class LongErrors(MapReduce):
    """A chunk that fails with a long message."""

    name = "sealed.long-errors"
    retries = 0

    def map(self) -> Several[int]:
        """One chunk."""
        yield 1

    def process(self, chunk: int) -> None:
        """Fails."""
        raise Trouble(LONG)


@task(name="sealed.hears")
def hears(story: Any) -> Any:
    """Returns how the task before it ended."""
    return story


class Chunked(MapReduce):
    """Chunks of texts."""

    name = "sealed.chunked"

    def map(self, text: str) -> Several[dict[str, str]]:
        """Three chunks."""
        yield from ({"text": text, "number": str(number)} for number in range(3))

    def process(self, chunk: dict[str, str]) -> str:
        """The text of the chunk."""
        return chunk["text"] + chunk["number"]

    def reduce(self, results: Results) -> list[str]:
        """All texts."""
        return list(results)


class Steps(Iterator):
    """Steps with a text as their state."""

    name = "sealed.steps"
    window = 1

    def iterate(self, state: str | None, text: str) -> Batch | None:
        """Two batches of one task."""
        if state is not None and len(state) > len(text):
            return None
        return Batch(text if state is None else state + "!", [echo.s(text)])


@activity(name="sealed.activity", retries=0)
def repeat(text: str, times: int) -> str:
    """A small or a large text."""
    return text * times


@workflow(name="sealed.child")
async def child(text: str) -> str:
    """Returns its argument."""
    return text


@workflow(name="sealed.run")
async def run(text: str, round: int = 0) -> list[str]:
    """Calls, a signal, a child, a status and a second round."""
    wf.set_status({"status": text})
    small, large = await wf.call(repeat, text, 1), await wf.call(repeat, text, 1_000)
    said = await wf.signal("say")
    below = await wf.child(child, text)
    if not round:
        wf.continue_as_new(text, 1)
    return [small, large[: len(text)], said, below]


@workflow(name="sealed.reaches")
async def reaches(text: str) -> str:
    """Records a value, and calls an activity of another pool."""
    noted = wf.side_effect(lambda: text)
    return await wf.call(repeat.using(pool="far"), noted, 1)


@workflow(name="sealed.breaks")
async def breaks(text: str) -> None:
    """Fails."""
    raise Trouble(text)


def handles(job: jobs.Job) -> str:
    """Returns the URL of its job."""
    return job.url
