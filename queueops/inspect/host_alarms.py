"""Alarms of hosts: a dependency at which several names fail, as the texts of their errors tell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from queueops.inspect.alarm import Alarm, in_pools, manage, warning
from queueops.inspect.failing_alarms import (
    LEAST_FAILED,
    MOST_NAMES,
    TWO_MINUTES,
    is_sudden,
    loud_failures,
    recent_failures,
)
from queueops.inspect.named_hosts import hosts_of_names
from queueops.inspect.spans import span
from queueops.inspect.throughput import FAILING
from queueops.model.samples import recent, recent_ms
from queueops.model.sentences import say

SEVERAL = 2
"""Of one name, the alarm is that of the name: it has the host in its text."""


def host_alarms(samples: Mapping[str, Mapping[str, Any]]) -> Iterator[Alarm]:
    """One alarm for each host at which several names fail: half of their attempts, or suddenly all."""
    loud = {pool: loud_failures(sampled) for pool, sampled in samples.items()}
    names: dict[str, dict[str, set[str]]] = {}
    for pool, (_bad, every) in loud.items():
        for name, host in hosts_of_names(samples[pool], every).items():
            names.setdefault(host, {}).setdefault(pool, set()).add(name)
    for host, of_pools in names.items():
        failed, ended, now_failed, now_ended = Counter[str](), 0, 0, 0
        for pool, those in of_pools.items():
            bad, every = loud[pool]
            failed.update({name: bad[name] for name in those if bad[name]})
            ended += sum(every[name] for name in those)
            now_bad = recent_failures(samples[pool])
            now_well = recent(samples[pool], "ok")
            now_failed += sum(now_bad[name] for name in those)
            now_ended += sum(now_bad[name] + now_well[name] for name in those)
        told = failed.total(), ended
        within: str = TWO_MINUTES
        lasts = failed.total() >= LEAST_FAILED and failed.total() >= FAILING * ended
        if not lasts:
            told, within = (now_failed, now_ended), span(max(recent_ms(samples[pool]) for pool in of_pools))
            sudden = now_failed and now_failed == now_ended
            lasts = bool(sudden) and is_sudden(now_failed, failed.total() - now_failed, ended - now_ended)
        if lasts and len(failed) >= SEVERAL:
            yield _failing(host, tuple(of_pools), failed, told, within)


def _failing(host: str, pools: tuple[str, ...], failed: Counter[str], told: tuple[int, int], within: str) -> Alarm:
    names = ", ".join(name[:100] for name in sorted(failed, key=lambda name: (-failed[name], name))[:MOST_NAMES])
    more = ", …" if len(failed) > MOST_NAMES else ""
    text = say(
        "The host %(host)s fails: %(failed)s of %(attempts)s attempts of %(count)s names of %(pools)s failed within the"
        " last %(within)s, and their errors name it: %(names)s.",
        host=host,
        failed=told[0],
        attempts=told[1],
        count=len(failed),
        pools=in_pools(pools),
        within=within,
        names=f"{names}{more}",
    )
    command = manage("queue", "errors")
    return warning(text, "errors", command, key=f"host {host}", pools=pools, failed=told[0])
