"""Alarm of a backlog that grows, with its cause: slow names, a limit or a pause, keys, a producer, or too few slots."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import quote

from queueops.inspect.alarm import Alarm, manage, warning
from queueops.inspect.alarms import STUCK_MS, bound_of, lane_page, raised
from queueops.inspect.estimates import run_times
from queueops.inspect.lanes import MOST, lane_rows
from queueops.inspect.named_hosts import host_named
from queueops.inspect.spans import span
from queueops.inspect.throughput import PoolView
from queueops.inspect.workers import running_of
from queueops.model.samples import counted, recent, recent_ms, usual_ms, usual_per_s
from queueops.model.sentences import Figure, Sentence, join, say, say_n
from queueops.model.states import State
from queueops.redis.query_replies import Beat, whole

BACKLOG = 100
"""Fewer ready tasks than this are not a backlog, however fast their number grows."""
GROWING, LASTING_S, LEAST_GROWTH = 1.1, 60.0, 10
"""Arrivals per end from which a backlog grows, or tasks in a minute. One that is empty within a minute is a burst."""
SLOWER, LEAST_MS = 3, 20.0
"""A name is slow if it takes so many times longer than usual, and so long at least."""
MAIN_SHARE, MORE_OFTEN = 0.6, 2
"""A producer is the cause with that share of the arrivals, and so many times more of them than usual."""
DEPLOY_MS = 300_000
"""Workers that started within this time may have brought the cause."""
MOST_NAMED = 3


class _Cause(NamedTuple):
    """Why a backlog grows: in one or two words, in a sentence, and a page, a command, a verb with its target."""

    about: str
    text: Sentence
    hint: str
    command: str = ""
    verb: str = ""
    target: str = ""


def growing_alarms(view: PoolView, sampled: Mapping[str, Any], beats: Sequence[Beat]) -> Iterator[Alarm]:
    """A queue that grows faster than it drains. A burst that is empty within a minute is none."""
    tasks = view.states.get(State.PENDING, 0)
    lasts = view.drain_s is None or view.drain_s > LASTING_S
    waited = sampled["taken"] - (view.oldest_pending_ms or sampled["taken"])
    came, ended = _pace(view, sampled)
    faster = came > ended * GROWING
    slowly = waited > STUCK_MS and (view.coming_rate - view.leaving_rate) * LASTING_S >= LEAST_GROWTH
    if tasks >= BACKLOG and lasts and (faster or slowly):
        cause = (
            _slow(view, sampled, beats)
            or _held(view, sampled)
            or _keys(view, sampled)
            or _producer(view, sampled)
            or _too_few(view)
        )
        text = say(
            "The backlog of the pool %(pool)s grows: %(tasks)s tasks wait, %(came)s arrive, %(ended)s end.",
            pool=view.name,
            tasks=tasks,
            came=_per_s(came),
            ended=_per_s(ended),
        )
        text = join(text, cause.text, _deployed(sampled, beats))
        yield warning(text, cause.hint, cause.command, cause.verb, cause.target, key=f"growing {cause.about}")


def _pace(view: PoolView, sampled: Mapping[str, Any]) -> tuple[float, float]:
    """Arrivals and ends per second: of the last seconds if they are known, as those of a minute tell a change late."""
    if not (ms := recent_ms(sampled)):
        return view.in_rate, view.out_rate
    ended = recent(sampled, "ok").total() + recent(sampled, "err").total()
    return recent(sampled, "in").total() * 1000 / ms, ended * 1000 / ms


def _slow(view: PoolView, sampled: Mapping[str, Any], beats: Sequence[Beat]) -> _Cause | None:
    """Names that take much longer than usual, if they use most of the time of the slots."""
    times = run_times(sampled, beats)
    count = recent if recent_ms(sampled) else counted  # what hung a minute ago tells nothing of now
    runs = count(sampled, "ok") + count(sampled, "err")
    runs.update(task.name for beat in beats for task in running_of(beat))
    used = {name: times[name] * runs[name] for name in times if name and runs[name]}
    slow = {
        name: times[name] / usual
        for name in used
        if (usual := usual_ms(sampled, name)) and times[name] >= max(LEAST_MS, SLOWER * usual)
    }
    if not slow or 2 * sum(used[name] for name in slow) < sum(used.values()):
        return None
    worst = sorted(slow, key=lambda name: -used[name])
    names = [join(name[:100], span(times[name])) for name in worst[:MOST_NAMED]]
    text = say_n(
        "%(n)s name takes %(factor)s times longer than before: %(names)s.",
        "%(n)s names take %(factor)s times longer than before: %(names)s.",
        len(slow),
        factor=f"{min(slow.values()):.0f}",
        names=join(*names, "…" if len(slow) > MOST_NAMED else "", by=", "),
    )
    text = join(text, host_named(sampled, slow))
    page = f"name?id={quote(worst[0])}"
    return _Cause("slow", text, page, manage("queue", "name", worst[0]))


def _held(view: PoolView, sampled: Mapping[str, Any]) -> _Cause | None:
    """A lane that is paused or at its limit or rate, or a paused name, if most of the tasks wait there."""
    most = max(lane_rows(view.name, dict(sampled)), key=lambda row: row.ready, default=None)
    paused = max(sampled.get("paused_names") or (), key=lambda row: int(row["waiting"]), default=None)
    if paused is not None and 2 * int(paused["waiting"]) >= view.states[State.PENDING]:
        name = str(paused["name"])
        text = say("The name %(name)s is paused.", name=name[:100])  # it has an alarm of its own, with the remedy
        return _Cause(f"name {name[:100]}", text, f"name?id={quote(name)}")
    if most is None or 2 * most.ready < view.states[State.PENDING] or not (most.paused or bound_of(most)):
        return None
    text = say("Lane %(lane)s is paused.", lane=most.label)
    if not most.paused:
        text = say("Lane %(lane)s is at its %(bound)s.", lane=most.label, bound=bound_of(most))
    verb, target = ("resume_lane", f"{view.name}/{most.lane}") if most.paused else ("", "")
    command = manage("queue", "resume", most.lane, "--pool", view.name) if most.paused else raised(most)
    about = f"lane {view.name}/{most.lane}"
    return _Cause(about, text, lane_page(most), command, verb, target)


def _producer(view: PoolView, sampled: Mapping[str, Any]) -> _Cause | None:
    """A name with most of the arrivals, and with more of them than before."""
    came, ms = recent(sampled, "in"), recent_ms(sampled)
    for name, count in came.most_common(1):
        rate = count * 1000 / ms
        if count >= MAIN_SHARE * came.total() and rate >= MORE_OFTEN * usual_per_s(sampled, name):
            rows = [row for row in sampled["lanes"] or () if name in (row.get("names") or {})]
            lane = max(rows, key=lambda row: int(row["ready"]), default=None)
            usual = usual_per_s(sampled, name)
            text = say(
                "%(share)s of the arrivals are %(name)s%(place)s: %(rate)s%(before)s.",
                share=f"{count / came.total():.0%}",
                name=name[:100],
                place=say(" in lane %(lane)s", lane=str(lane["lane"])[:100]) if lane else "",
                rate=Figure(f"{rate:,.0f}/s"),
                before=say(", %(rate)s before", rate=_per_s(usual)) if usual else "",
            )
            command, target = manage("queue", "pause", "--name", name, "--pool", view.name), f"{view.name}/{name}"
            return _Cause(f"producer {name[:100]}", text, f"name?id={quote(name)}", command, "pause_name", target)
    return None


def _keys(view: PoolView, sampled: Mapping[str, Any]) -> _Cause | None:
    """Limits of tasks, if most of the tasks wait for a turn of their key: they are in no lane, and no name has them."""
    rows = lane_rows(view.name, dict(sampled))
    elsewhere = sum(row.ready for row in rows) + sum(int(row["held"]) for row in sampled.get("paused_names") or ())
    waiting = view.states[State.PENDING] - elsewhere
    if len(rows) >= MOST or 2 * waiting < view.states[State.PENDING]:
        return None
    text = say_n(
        "%(n)s task waits for turns, by the limit or rate of their name: more slots do not help.",
        "%(n)s tasks wait for turns, by the limit or rate of their name: more slots do not help.",
        waiting,
    )
    command = manage("queue", "list", "--state", "pending", "--pool", view.name)
    return _Cause("keys", text, f"tasks/?state=pending&pool={view.name}", command)


def _too_few(view: PoolView) -> _Cause:
    text = say("No name is slower than before, and no limit holds them: more slots help.")
    return _Cause("slots", text, f"tasks/?state=pending&pool={view.name}", manage("runworker", "--pool", view.name))


def _deployed(sampled: Mapping[str, Any], beats: Sequence[Beat]) -> str:
    """A sentence if all workers started a short while ago, else nothing."""
    first = min((whole(beat.fields.get("started")) for beat in beats), default=0)
    age = sampled["taken"] - first
    return say("Its workers started %(age)s ago.", age=span(age)) if age < DEPLOY_MS and sampled.get("usual") else ""


def _per_s(number: float) -> Figure:
    return Figure(f"{number:.1f}/s")
