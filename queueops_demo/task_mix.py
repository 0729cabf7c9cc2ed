"""Task mix of the demo: random sample tasks, in proportions that show each state of a task."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from queueops_demo.library import any_binary, any_package, any_source
from queueops_demo.tasks import failing, files, pictures, reading, shop, waiting, web
from queueops_demo.tasks.words import StrictWordCount, WordCount

ROUND_S, STRICT_AFTER_S = 300.0, 45.0
"""Seconds between two counts of all words, and after which the strict count of one package follows."""

Push = Callable[[], object]


@dataclass(frozen=True, slots=True)
class Share:
    """Share of one sample task: `weight` of about 1,000 tasks, at most once in `apart` seconds."""

    weight: int
    push: Push
    apart: float = 0.0


def _for_a_tenant() -> object:
    tenant = f"tenant-{random.randint(1, 9)}"
    return reading.count_words.using(lane=tenant, tags=["reading", tenant]).push(any_source(), tenant=tenant)


def _nap() -> object:
    return waiting.take_a_nap.push(random.randint(4, 16) / 2)


def _reminder() -> object:
    return waiting.remind.postpone(random.randint(5, 90), random.choice(("tea", "standup", "lunch", "go home")))


def _compress() -> object:
    return files.compress_file.push(any_source(), random.choice(("zlib", "bz2", "lzma")))


def _call_back() -> object:
    return waiting.call_back.push(random.randint(200, 999), busy_times=random.randint(1, 3))


def _order() -> object:
    customer = random.choice(("ada", "grace", "", "alan"))
    return failing.order.push(random.choice(("teapot", "kettle", "cup")), random.randint(1, 8), customer)


def _order_saga() -> object:
    number, article = f"{random.randrange(10**6):06}", random.choice(("teapot", "kettle", "cup", "saucer"))
    euros = random.choice((20, 45, 80, 113, 250, 520, 990))
    parcels = random.randint(1, 3)
    return shop.order_saga.using(on_conflict="ignore").start(number, article, euros, parcels)


def _stocktaking() -> object:
    return shop.stocktaking.using(id="stocktaking", on_conflict="ignore").start(0, 0)


def _impatient() -> object:
    return shop.impatient.using(id="impatient", on_conflict="ignore").start()


def _order_of_nothing() -> object:
    return shop.order_saga.using(on_conflict="ignore").start(f"{random.randrange(10**6):06}", "", 20, 1)


SHARES = (
    Share(210, lambda: reading.count_words.push(any_source())),
    Share(130, lambda: files.hash_file.push(any_source(), random.choice(("sha256", "blake2b", "sha1")))),
    Share(130, lambda: pictures.make_thumbnail.push(any_source())),
    Share(120, _for_a_tenant),
    Share(90, _compress),
    Share(60, web.check_login_page.push, apart=0.2),
    Share(50, _reminder, apart=0.1),
    Share(25, _call_back),
    Share(40, _nap, apart=2),
    Share(25, lambda: reading.refresh_totals.postpone(8), apart=2),
    Share(20, lambda: waiting.wait_until.push(time.time() + random.randint(5, 30)), apart=0.5),
    Share(20, lambda: waiting.watch_the_clock.push(random.randint(2, 12)), apart=1),
    Share(10, web.check_pages.push, apart=2),
    Share(10, lambda: reading.survey_package.push(any_package()), apart=2),
    Share(5, lambda: reading.index_package.push(any_package()), apart=20),
    Share(12, _order),
    Share(8, lambda: reading.count_words.using(retries=1).push(any_binary())),
    Share(10, _order_saga, apart=8),
    Share(4, _stocktaking, apart=20),
    Share(2, _impatient, apart=120),
    Share(2, _order_of_nothing, apart=120),
    Share(6, lambda: failing.share_out.push(random.randint(1, 100), random.choice((0, 0, 4)))),
    Share(5, lambda: failing.look_up_price.push(random.choice(("saucer", "spoon", "teapot")))),
    Share(3, lambda: failing.wait_for_an_answer.push("is the server there?"), apart=10),
    Share(2, failing.kill_own_worker.push, apart=180),
)


class TaskMix:
    """Chooses and pushes tasks. A choice within `apart` seconds of the last one is replaced by a word count."""

    def __init__(self) -> None:
        now = time.monotonic()
        self._again = {share: now + _at_first(share) for share in SHARES}
        self._order = self._endless()

    def push(self) -> None:
        """Push the next task."""
        next(self._order).push()

    def _endless(self) -> Iterator[Share]:
        weights = [share.weight for share in SHARES]
        while True:
            (chosen,) = random.choices(SHARES, weights)
            now = time.monotonic()
            if now < self._again[chosen]:
                chosen = SHARES[0]
            self._again[chosen] = now + chosen.apart
            yield chosen


def _at_first(share: Share) -> float:
    """The earliest first push. Rare tasks are disruptive: they do not run in the first third of their interval."""
    return share.apart / 3 if share.apart > 60 else 0.0


class Rounds:
    """The word counts: started every few minutes, however fast the rest comes; the first one at once."""

    def __init__(self) -> None:
        now = time.monotonic()
        self._next = {WordCount: now, StrictWordCount: now + STRICT_AFTER_S}

    def push_due(self, now: float) -> None:
        """Push what is due by now."""
        for count, due in self._next.items():
            if now >= due:
                self._next[count] = now + ROUND_S
                count.push("the library" if count is WordCount else any_package())
