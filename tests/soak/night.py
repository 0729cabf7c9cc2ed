"""The faults of a night: how each is planted, and what an operator looks at, clicks and types until it is mended."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

BOUND_S = 120.0
"""The longest wait for an alarm, for its end, and for a command."""


class Fault(NamedTuple):
    """A planted fault. Its alarm cannot be told before the condition has lasted for `lasts_s`.

    A step is a link or a button, `link:<name>`, by a part of its name. `why` are the steps from the alarm to the page
    that shows `cause`; `mend` those from there to the button that mends it. Without `mend` the remedy is the command of
    the alarm, and `obey` does what it says.
    """

    name: str
    plant: Callable[[Scene], AbstractContextManager[None]]
    alarm: str
    why: tuple[str, ...]
    cause: str
    mend: tuple[str, ...] = ()
    before: Callable[[Scene], None] | None = None  # what is mended elsewhere, before the button is pressed
    obey: Callable[[Scene, list[str]], None] | None = None
    lasts_s: float = 0.0
    figure: Callable[[], int] | None = None  # what the store counts, of the first group of `alarm`
    ends: bool = True  # the alarm ends when that is done; if not, the command shows more about the cause
    after_s: float = 0.0  # it is planted so long after the page was opened


JOBS = {"PRIVATE_NETWORKS": ["127.0.0.0/8"], "PORTS": None, "CIRCUIT_FAILURES": 3, "CIRCUIT_WAIT": 600.0}
"""Jobs may reach servers of this machine, and three failures in a row open the circuit of a host."""


class Scene:
    """A worker and a watchdog on a store of their own, and the console as an administrator sees it."""

    def __init__(self, folder: Path) -> None:
        from tests.faults.processes import Ledger

        self.folder, self.ledger = folder, Ledger(folder / "ledger")
        self._count = 0
        self.is_up = threading.Event()
        self.worker, self.watchdog = self.start("runworker", "--threads", "4"), self.start("watchdog")

    def start(self, command: str, *words: str, launcher: Sequence[str] = ()) -> Any:
        from tests.faults.processes import Worker

        self._count += 1
        log = self.folder / f"{self._count:02d}.log"
        return Worker(log, {"JOBS": JOBS}, self.ledger, *words, command=command, launcher=launcher)

    def end(self) -> None:
        """End both processes by their ids."""
        for process in (self.worker, self.watchdog):
            process.end()


@contextmanager
def failing_name(scene: Scene, count: int = 15) -> Iterator[None]:
    from queueops import control
    from tests.faults import tasks

    tasks.echo.push_many([(number,) for number in range(85 + count)])
    tasks.returns_an_object.using(retries=0).push_many([()] * count)
    yield
    control.resume_name(tasks.returns_an_object.name)


@contextmanager
def paused_lane(scene: Scene, lane: str = "mails", count: int = 5) -> Iterator[None]:
    from queueops import control
    from tests.faults import tasks

    tasks.echo.using(lane=lane).push_many([(0,)])
    control.pause_lane("default", lane)
    tasks.echo.using(lane=lane).push_many([(0,)] * count)
    yield
    control.resume_lane("default", lane)


@contextmanager
def lane_at_its_limit(scene: Scene) -> Iterator[None]:
    from queueops import control
    from tests.faults import tasks

    tasks.echo.using(lane="api").push_many([(0,)])
    control.set_lane("default", "api", limit=1)
    tasks.work.using(lane="api").push_many([(75.0,), (0.0,)])
    yield
    control.set_lane("default", "api", limit=None)


@contextmanager
def paused_name(scene: Scene, number: int = 0, count: int = 3) -> Iterator[None]:
    from queueops import control
    from tests.faults import tasks

    task = tasks.shops[number]
    control.pause_name(task.name, new=True)
    task.push_many([(0.0,)] * count)
    yield
    control.resume_name(task.name)


@contextmanager
def frozen_worker(scene: Scene) -> Iterator[None]:
    scene.worker.freeze()
    yield
    scene.worker.signal_all(signal.SIGCONT)


@contextmanager
def dead_worker(scene: Scene) -> Iterator[None]:
    scene.worker.signal_all(signal.SIGKILL)
    scene.worker.end()
    yield


@contextmanager
def dead_watchdog(scene: Scene) -> Iterator[None]:
    scene.watchdog.signal_all(signal.SIGKILL)
    scene.watchdog.end()
    yield


@contextmanager
def paused_schedule(scene: Scene, id: str = "reports") -> Iterator[None]:
    from queueops import control
    from tests.faults import tasks

    control.create_schedule(tasks.echo, "@every 2s", id=id)
    control.pause_schedule(id)
    yield
    control.delete_schedule(id)


@contextmanager
def full_store(scene: Scene) -> Iterator[None]:
    client = _client()
    client.setrange("drill:filler", 50_000_000, b"x")  # so that what connections take hardly counts
    client.config_set("maxmemory", int(client.info("memory")["used_memory"] * 1.04))
    yield
    client.config_set("maxmemory", 0)
    client.delete("drill:filler")


@contextmanager
def slow_store(scene: Scene) -> Iterator[None]:
    ended = threading.Event()

    def hold_up() -> None:
        while not ended.is_set():
            _client().client_pause(700)

    holding = threading.Thread(target=hold_up)
    holding.start()
    yield
    ended.set()
    holding.join()


@contextmanager
def failing_host(scene: Scene) -> Iterator[None]:
    from queueops import jobs
    from tests.jobs.servers import serving

    def hook(exchange: Any) -> None:
        exchange.answer(200 if scene.is_up.is_set() else 503)

    with serving({"/file": lambda exchange: exchange.answer(200, b"x"), "/hook": hook}) as server:
        given = {"aggregation": "shop", "url": server.url("/file"), "callback_url": server.url("/hook")}
        jobs.submit_many([given] * 10)
        yield
        for state in ("pending", "postponed", "restart"):  # the server ends; what still waits would fail again
            run_here(scene, ["manage.py", "queue", "cancel", "--name", "callback", "--state", state, "--yes"])


def host_is_up(scene: Scene) -> None:
    scene.is_up.set()


@contextmanager
def blocked_run(scene: Scene, id: str = "order/7") -> Iterator[None]:
    from tests.faults.sagas import wrong_code

    scene.ledger.close("deploy")
    wrong_code.using(id=id).start()
    yield


def deploy(scene: Scene) -> None:
    scene.ledger.open("deploy")


def run_worker(scene: Scene, words: list[str]) -> None:
    scene.worker = scene.start(*words[1:], "--threads", "4")


def run_watchdog(scene: Scene, words: list[str]) -> None:
    scene.watchdog = scene.start(*words[1:])


def run_here(scene: Scene | None, words: list[str]) -> None:
    """A command of the machine, or of the project."""
    python = [sys.executable] if words[0] == "manage.py" else []
    subprocess.run([*python, *words], check=True, stdout=subprocess.DEVNULL, timeout=BOUND_S)


OPEN = "link:Open"
FAULTS = (
    Fault(
        "a failing name",
        failing_name,
        r"Task \S+returns_an_object of pool default: 15 of 15 attempts",
        why=(OPEN,),
        cause=r"NotEncodable",
        mend=("button:Pause",),
        ends=False,
    ),
    Fault(
        "a paused lane",
        paused_lane,
        r"Lane mails .* is paused; 5 tasks wait",
        why=(OPEN,),
        cause=r"The lane is paused\. No task starts before it is resumed\.",
        mend=("button:Resume",),
    ),
    Fault(
        "a paused name",
        paused_name,
        r"Task name \S+shop_0 of pool default is paused: 3 tasks wait",
        why=(OPEN,),
        cause=r"Paused in the pool default",
        mend=("button:Resume",),
    ),
    Fault(
        "a lane at its limit",
        lane_at_its_limit,
        r"Lane api .*limit",
        why=(OPEN,),
        cause=r"The lane is at its limit of 1\.",
        obey=run_here,
        lasts_s=60.0,
    ),
    Fault(
        "a frozen worker",
        frozen_worker,
        r"[Ww]orker.* frozen",
        why=(OPEN,),
        cause=r"frozen",
        obey=run_here,
    ),
    Fault("a dead worker", dead_worker, r"[Ww]orker.* dead", why=(OPEN,), cause=r"dead", obey=run_worker),
    Fault("a dead watchdog", dead_watchdog, r"[Nn]o watchdog", why=(), cause=r"No watchdog serves", obey=run_watchdog),
    Fault(
        "a host that fails",
        failing_host,
        r"An address of the host \S+ has failed several times in a row: \d+ callbacks? waits?",
        why=(OPEN,),
        cause=r"Its circuit is open: nothing is sent",
        before=host_is_up,
        mend=("button:Send again now",),
    ),
    Fault(
        "a blocked run",
        blocked_run,
        r"The run order/7 of faults\.wrong_code has been blocked",
        why=(OPEN,),
        cause=r"begins a thread|thread",
        before=deploy,
        mend=("button:Run now",),
    ),
    Fault(
        "a paused schedule",
        paused_schedule,
        r"[Ss]chedule reports .*paused",
        why=(OPEN,),
        cause=r"paused",
        mend=("button:Resume",),
    ),
    Fault(
        "a full store",
        full_store,
        r"The store uses \d+% of its memory limit",
        why=(),
        cause=r"of its memory limit",
        obey=run_here,
    ),
    Fault(
        "a slow store", slow_store, r"The store is slow", why=(), cause=r"The store is slow", obey=run_here, ends=False
    ),
)


def _client() -> Any:
    from queueops.redis.broker import get_broker

    return get_broker().client
