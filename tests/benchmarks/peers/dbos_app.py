"""Workflows of DBOS on SQLite, with the measures of `tests.benchmarks.workflows`; the figures are printed as JSON."""

import asyncio
import json
import sys
import time
from statistics import median

from dbos import DBOS

ROUNDS = 15
PAUSE = 0.2


@DBOS.step()
async def nothing(number: int) -> int:
    """Do nothing."""
    return number


@DBOS.workflow()
async def one() -> int:
    """One step."""
    return await nothing(1)


@DBOS.workflow()
async def in_sequence(count: int) -> int:
    """Steps one after the other."""
    for number in range(count):
        await nothing(number)
    return count


@DBOS.workflow()
async def at_once(count: int) -> int:
    """Steps at once."""
    return len(await asyncio.gather(*(nothing(number) for number in range(count))))


async def main(count: int) -> None:
    """Measure."""
    figures = {}
    began = time.perf_counter()
    for first in range(0, count, 100):  # a hundred at a time: all at once exhaust its connections
        handles = [await DBOS.start_workflow_async(one) for _ in range(min(100, count - first))]
        await asyncio.gather(*(handle.get_result() for handle in handles))
    figures["one activity, of a backlog, runs/s"] = count / (time.perf_counter() - began)
    for name, function, arguments, rounds, pause in (
        ("one activity, idle for 10 ms, ms", one, (), 100, 0.01),
        ("one activity, idle for 200 ms, ms", one, (), ROUNDS, PAUSE),
        ("10 activities in sequence, ms", in_sequence, (10,), ROUNDS, PAUSE),
        ("1,000 activities at once, ms", at_once, (1_000,), 3, PAUSE),
    ):
        spent = []
        for _ in range(rounds):
            await asyncio.sleep(pause)
            began = time.perf_counter()
            await (await DBOS.start_workflow_async(function, *arguments)).get_result()
            spent.append(1000 * (time.perf_counter() - began))
        figures[name] = median(spent)
    print(json.dumps(figures))


if __name__ == "__main__":
    DBOS(config={"name": "bench", "system_database_url": f"sqlite:///{sys.argv[1]}", "log_level": "ERROR"})
    DBOS.launch()
    asyncio.run(main(int(sys.argv[2])))
    DBOS.destroy()
