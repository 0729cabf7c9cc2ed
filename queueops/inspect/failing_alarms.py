"""Alarms of failures: names whose attempts fail, in all pools together, tasks that kill their worker, and pools."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple
from urllib.parse import quote

from msgspec import structs

from queueops.inspect.alarm import Alarm, in_pools, manage, warning
from queueops.inspect.named_hosts import host_named
from queueops.inspect.registry import is_own_name
from queueops.inspect.spans import span
from queueops.inspect.throughput import FAILING
from queueops.model.samples import counted, recent, recent_ms
from queueops.model.sentences import Sentence, join, say

LEAST_FAILED = 10
"""Fewer failed attempts than this are not an alarm, unless there was hardly another one."""
ALL_OF_FEW = 3
"""So many tasks that failed are an alarm if no attempt of their name succeeded, and the pool made only LEAST_FAILED."""
CHANCE = 1e-5
"""A name fails suddenly if its failures of the last seconds, at its earlier share of failures, are less likely."""
MOST_NAMES = 3
"""The most failing names with an alarm of their own."""
TWO_MINUTES = say("two minutes")
KILLED = 2
"""So many starts of tasks that had lost a worker before, and lost another one, are no accident."""

Samples = Mapping[str, Mapping[str, Any]]


class _Failed(NamedTuple):
    """Failed attempts of a name in one pool, of how many, and within which time; or the sentence of the whole pool."""

    failed: int
    ended: int
    within: str
    text: Sentence | None = None


def failing_alarms(samples: Samples) -> Iterator[Alarm]:
    """The names that kill their worker, those that fail, and the pools in which many names fail."""
    killers = {name: pools for name, pools in _killers(samples).items() if sum(pools.values()) >= KILLED}
    for name, kills in killers.items():
        yield _killing(name, {pool: samples[pool] for pool in kills})
    names: dict[str, dict[str, _Failed]] = {}
    for pool, sampled in samples.items():
        failed, ended = loud_failures(sampled)
        bad, all_ended = failed.total(), ended.total()
        if bad >= LEAST_FAILED and bad >= FAILING * all_ended:
            name, most = failed.most_common(1)[0]
            text = say(
                "Pool %(pool)s: %(failed)s of %(attempts)s attempts of the last two minutes failed, %(most)s of them of"
                " %(name)s.",
                pool=pool,
                failed=bad,
                attempts=all_ended,
                most=most,
                name=name[:100],
            )
            told = _Failed(bad, all_ended, TWO_MINUTES, text)
            if 2 * most > bad:
                names.setdefault(name, {})[pool] = told
            else:
                more: dict[str, Any] = {"key": f"failing-pool {pool}", "pools": (pool,), "failed": bad}
                text = join(text, host_named(sampled, failed))
                yield warning(text, "errors?sort=failed", manage("queue", "errors"), **more)
            continue
        for name, found in islice(_of_names(sampled, failed, ended), MOST_NAMES):
            names.setdefault(name, {})[pool] = found
    for name, of_pools in names.items():
        if name not in killers:
            yield _failing(name, of_pools, samples)


def loud_failures(sampled: Mapping[str, Any]) -> tuple[Counter[str], Counter[str]]:
    """Failed and ended attempts, by name, as if those with a muted error had not been."""
    failed = _loud(sampled, counted)
    return failed, failed + counted(sampled, "ok")


def recent_failures(sampled: Mapping[str, Any]) -> Counter[str]:
    """The same failed attempts, of the last seconds."""
    return _loud(sampled, recent)


def _loud(sampled: Mapping[str, Any], count: Callable[[Mapping[str, Any], str], Counter[str]]) -> Counter[str]:
    """Of a name with muted errors, what the store counted as it stored the outcomes.

    Workers send `err` up to a second later, which may be in another minute than the muted failure.
    """
    muted, heard = counted(sampled, "mute"), count(sampled, "loud") + count(sampled, "lost")
    every = count(sampled, "err").items()
    return +Counter({name: min(heard[name], failed) if name in muted else failed for name, failed in every})


def _of_names(sampled: Mapping[str, Any], failed: Counter[str], ended: Counter[str]) -> Iterator[tuple[str, _Failed]]:
    """The names of a pool that fail: half of their attempts, all of a few, or suddenly all."""
    now_failed, now_well = recent_failures(sampled), recent(sampled, "ok")
    retried = counted(sampled, "re")
    for name, count in failed.most_common():
        is_small = ended.total() <= LEAST_FAILED and count - retried[name] >= ALL_OF_FEW and count == ended[name]
        if is_small or (count >= LEAST_FAILED and count >= FAILING * ended[name]):
            yield name, _Failed(count, ended[name], TWO_MINUTES)
        elif (now := now_failed[name]) and not now_well[name] and is_sudden(now, count - now, ended[name] - now):
            yield name, _Failed(now, now, span(recent_ms(sampled)))


def is_sudden(failed: int, failed_before: int, ended_before: int) -> bool:
    """Whether so many failures in a row are no chance with the share of failures before them."""
    return ((failed_before + 1) / (ended_before + 2)) ** failed < CHANCE


def _failing(name: str, found: Mapping[str, _Failed], samples: Samples) -> Alarm:
    """The alarm of a name: it leads to the name, with its pause as the remedy; of a paused one to its errors.

    A pause of one of QueueOps' own names, such as `callback`, is no remedy: it holds the work for all hosts.
    """
    failed, ended = (sum(getattr(each, field) for each in found.values()) for field in ("failed", "ended"))
    (one, *others) = found.values()
    text = say(
        "Task %(name)s of %(pools)s: %(failed)s of %(attempts)s attempts of the last %(within)s failed.",
        name=name[:100],
        pools=in_pools(found),
        failed=failed,
        attempts=ended,
        within=one.within,
    )
    text = text if others else one.text or text
    host = next(filter(None, (host_named(samples[pool], [name]) for pool in found)), "")
    more = {"key": f"failing {name[:100]}", "pools": tuple(found), "failed": failed}
    text = join(text, host)
    if is_own_name(name):
        return warning(text, f"name?id={quote(name)}", manage("queue", "name", name), **more)
    return _stopping(text, name, found, samples, **more)


def _stopping(text: Sentence, name: str, of: Mapping[str, Any], samples: Samples, **more: Any) -> Alarm:
    page = f"name?id={quote(name)}"
    if all(any(str(row["name"]) == name for row in samples[pool].get("paused_names") or ()) for pool in of):
        return warning(text, page, manage("queue", "errors"), **more)
    place = ("--pool", *of) if len(of) == 1 else ()
    command = manage("queue", "pause", "--name", name, *place)
    return warning(text, page, command, "pause_name", f"{place[-1] if place else ''}/{name}", **more)


def _killers(samples: Samples) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for pool, sampled in samples.items():
        for name, count in counted(sampled, "kill").items():
            found.setdefault(name, {})[pool] = count
    return found


def _died_beside(samples: Samples) -> Iterator[str]:
    """The keys of alarms about failures which are mostly starts that were lost with their process."""
    all_lost: Counter[str] = Counter()
    all_failed: Counter[str] = Counter()
    for pool, sampled in samples.items():
        lost, failed = counted(sampled, "lost"), loud_failures(sampled)[0]
        all_lost, all_failed = all_lost + lost, all_failed + failed
        if 2 * lost.total() > failed.total():
            yield f"failing-pool {pool}"
    yield from (f"failing {name[:100]}" for name, count in all_failed.items() if 2 * all_lost[name] > count)


def _killing(name: str, samples: Samples) -> Alarm:
    lost = sum(counted(sampled, "lost")[name] for sampled in samples.values())
    text = say(
        "Task %(name)s of %(pools)s kills its worker: %(lost)s of its starts ended with their process within the last"
        " two minutes.",
        name=name[:100],
        pools=in_pools(samples),
        lost=lost,
    )
    more = {"key": f"kills {name[:100]}", "pools": tuple(samples), "failed": lost}
    found = _stopping(text, name, samples, samples, followers=tuple(_died_beside(samples)), **more)
    return structs.replace(found, level="danger")
