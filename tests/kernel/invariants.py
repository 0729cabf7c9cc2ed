"""What is true of a pool between any two calls: the consistency checker of the tests."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from math import inf

from queueops.model import states
from queueops.model.history import steps_of
from queueops.model.states import State, StateClass
from queueops.redis.broker import RedisBroker
from tests.kernel import limit_invariants
from tests.kernel.picture import Picture

TERMINAL = {str(state) for state in states.TERMINAL}
DEFAULT = "default"
LIGHT = {"l", "kp", "wt"}
MORE = {"k", "nx", "pi", "ex", "fu", "lk"}
SLACK_MS = 2000

Problems = Iterator[str]


class Look:
    """One picture of a pool, what the checks ask of it, and what it must overlook."""

    def __init__(self, broker: RedisBroker, pool: str, **known: Collection[str]) -> None:
        self.picture = Picture(broker, pool)
        self.settings = broker.settings
        self.broken, self.haunted, self.lowered = (set(known[each]) for each in ("broken", "haunted", "lowered"))
        self.records = {key: row for key, row in self.picture.records().items() if key not in self.broken}
        self.states = {state: set(found) for state, found in self.picture.states().items() if state != "active"}

    def ids(self, **wanted: str) -> set[str]:
        """The ids of the readable records with these fields."""
        return {key for key, row in self.records.items() if all(row.get(f) == value for f, value in wanted.items())}

    def by_lane(self, wanted: Collection[str]) -> dict[str, set[str]]:
        """The readable tasks in one of these states, by lane."""
        found: dict[str, set[str]] = {}
        for key, row in self.records.items():
            if row["s"] in wanted:
                found.setdefault(row.get("l", DEFAULT), set()).add(key)
        return found


def check(
    broker: RedisBroker,
    pool: str = DEFAULT,
    *,
    broken: Collection[str] = (),
    haunted: Collection[str] = (),
    lowered: Collection[str] = (),
) -> Picture:
    """Assert every invariant of a pool, and say all that is wrong at once.

    ``broken`` are tasks whose record is destroyed, ``haunted`` those of which it ever was: the indexes by tag may
    still have them. ``lowered`` are lanes whose limit was set below what runs.
    """
    look = Look(broker, pool, broken=broken, haunted=haunted, lowered=lowered)
    problems = [problem for each in CHECKS for problem in each(look)]
    assert not problems, "\n".join(problems)
    return look.picture


def tasks_of(members: Collection[str]) -> set[str]:
    """Without chunks, their second runs and their lanes: `tests.mapreduce.invariants` looks at those."""
    return {member for member in members if "#" not in member}


def one_state(look: Look) -> Problems:
    """Every task is in exactly one state index, and its record agrees."""
    places: dict[str, list[str]] = {}
    for state, found in look.states.items():
        for key in found:
            places.setdefault(key, []).append(state)
    for key, found_in in places.items():
        if len(found_in) > 1:
            yield f"{key} is in several state indexes: {found_in}"
        if key not in look.records and key not in look.broken:
            yield f"{key} is in {found_in} and has no record"
    for key, row in look.records.items():
        if places.get(key) != [row["s"]]:
            yield f"the record of {key} says {row['s']}, the indexes say {places.get(key)}"
    for state in look.states:
        entered = look.picture.scores(f"state:{state}")
        yield from (f"{key} entered {state} at {at}" for key, at in entered.items() if not 0 < at <= look.picture.now)


def lanes(look: Look) -> Problems:
    """A task is in its lane if and only if it is ready, and in no other lane."""
    ready = look.by_lane([State.PENDING])
    for lane in {*look.picture.under("lane:"), *ready}:
        found = tasks_of(look.picture.order(f"lane:{lane}")) - look.broken
        held = (_held(look) | limit_invariants.without_turn(look.picture)) & ready.get(lane, set())
        if found & held:
            yield f"lane {lane} holds {sorted(found & held)}, and so do their paused names or keys"
        if found | held != ready.get(lane, set()):
            yield f"lane {lane} holds {sorted(found)}, but ready are {sorted(ready.get(lane, set()))}"
        if ready.get(lane) and lane not in look.picture.scores("lanes"):
            yield f"lane {lane} is not known"


def _held(look: Look) -> set[str]:
    """The tasks that left their lanes because their names are paused."""
    return {key for name in look.picture.under("paused:") for key in tasks_of(look.picture.order(f"paused:{name}"))}


def limits(look: Look) -> Problems:
    """What keys have agrees with the records."""
    return limit_invariants.problems(look.picture, look.records, look.haunted)


def paused_names(look: Look) -> Problems:
    """A task is held for a paused name only if it is ready and has the name; the clock tells that a name is paused."""
    paused = look.picture.hash("names:paused")
    for name in look.picture.under("paused:"):
        here = tasks_of(look.picture.order(f"paused:{name}")) - look.haunted
        if wrong := here - look.ids(s="pending", n=name):
            yield f"the paused name {name} holds {sorted(wrong)}"
        if name not in paused and f"~name:{name}" not in look.picture.scores("agenda"):
            yield f"the name {name} is not paused, and nothing brings its tasks back"
    if bool(paused) != (look.picture.hash("clock").get("paused") == "1"):
        yield f"paused are {sorted(paused)}, and the clock does not say so"


def round_of_lanes(look: Look) -> Problems:
    """A lane is in the round if and only if it has a ready task, is not paused, has a free slot, and a token.

    One that had no token when it was looked at last is on the agenda instead, until that is acted on.
    """
    expected, found = set(), tasks_of(look.picture.scores("lanes:ready"))
    agenda_of = look.picture.scores("agenda")
    for lane in look.picture.under("lane:"):
        limit, paused = look.picture.lane_conf(lane)
        tokens, latest = look.picture.tokens(lane)
        active = look.picture.members(f"lane:{lane}#active")
        if paused or (limit is not None and len(active) >= limit):
            continue
        if lane in found or not agenda_of.get(f"~lane:{lane}", inf) <= latest:
            expected.add(lane)
        if lane in found and tokens < 1:
            yield f"lane {lane} is in the round, but has {tokens} tokens"
    if found != expected:
        yield f"the round has the lanes {sorted(found)}, expected {sorted(expected)}"


def slots(look: Look) -> Problems:
    """The slots of a lane with a limit are held by its leased tasks, never more than the limit."""
    leased = look.by_lane(states.table().leased)
    for lane in look.picture.under("lane:", sub="active"):
        limit, _ = look.picture.lane_conf(lane)
        if limit is None:
            yield f"lane {lane} has slots but no limit"
    for lane in look.picture.under("lane:", sub="conf"):
        limit, _ = look.picture.lane_conf(lane)
        held = look.picture.members(f"lane:{lane}#active") - look.broken
        if limit is None:
            continue
        if held != leased.get(lane, set()):
            yield f"the slots of {lane} are held by {sorted(held)}, leased are {sorted(leased.get(lane, set()))}"
        if len(held) > limit and lane not in look.lowered:
            yield f"{len(held)} tasks of {lane} run, the limit is {limit}"


def agenda(look: Look) -> Problems:
    """A task is on the agenda if and only if its class says so, at a plausible time."""
    found = {key: at for key, at in look.picture.scores("agenda").items() if key not in look.broken}
    tasks = {key: at for key, at in found.items() if not key.startswith("~") and "#" not in key}
    expected = {key for key, row in look.records.items() if row["s"] in states.table().on_agenda}
    if set(tasks) != expected:
        yield f"on the agenda but should not: {sorted(set(tasks) - expected)}; missing: {sorted(expected - set(tasks))}"
    for key in expected & set(tasks):
        latest = _latest(look, look.records[key])
        if not 0 <= tasks[key] <= latest:
            yield f"{key} ({look.records[key]['s']}) is on the agenda for {tasks[key]}, at most {latest} was expected"
    trashed = {key.removeprefix("~trash:") for key in found if key.startswith("~trash:")}
    if not trashed == set(look.picture.under("trash:")) == set(look.picture.scores("trashed")):
        yield f"the trash holds {sorted(look.picture.under('trash:'))}, the agenda {sorted(trashed)}"


def _latest(look: Look, row: dict[str, str]) -> float:
    """The latest time at which the agenda may have this task."""
    kind = states.table().classes[row["s"]]
    if kind is StateClass.LEASED:
        return look.picture.now + look.settings.lease * 1000 + SLACK_MS
    if kind is StateClass.TIMED:
        return int(row["d"])
    kept = int(row["kp"]) if "kp" in row else look.settings.retention[row["s"]] * 1000
    if "pi" in row:  # a part is kept as long as what it is part of
        kept = max(kept, *(seconds * 1000 for seconds in look.settings.retention.values()))
    return look.picture.now + kept + SLACK_MS


def counts(look: Look) -> Problems:
    """The display counters agree with the indexes: exactly, or in sum where a record was destroyed."""
    found = look.picture.hash("counts")
    found = {field: value for field, value in found.items() if not (field.startswith("s||") and value == "0")}
    if bad := {field: value for field, value in found.items() if value == "0" or not re.fullmatch(r"-?\d+", value)}:
        yield f"counters that should not be there: {bad}"
    if stored := {
        field for field in found if field.startswith(("l|", "n|")) and field.endswith(("|active", "|locked"))
    }:
        yield f"counters that are not stored: {stored}"
    found |= {f"n|{name}|locked": str(count) for name, count in _locked_by_name(look, found).items() if count}
    by_state: Counter[str] = Counter()
    for field, value in found.items():
        if field.startswith("n|"):
            by_state[field.rpartition("|")[2]] += int(value)
    expected = Counter({state: len(members) for state, members in look.states.items()})
    if +by_state != +expected:
        yield f"the counters sum up to {dict(+by_state)}, the indexes to {dict(+expected)}"
    if look.haunted:
        return
    exact: Counter[str] = Counter(f"n|{row['n']}|{row['s']}" for row in look.records.values())
    exact.update(f"k|{row['k']}|{row['s']}" for row in look.records.values() if row.get("k", "task") != "task")
    for row in look.records.values():
        if (lane := row.get("l", DEFAULT)) != DEFAULT:
            exact.update((f"s|{lane}|{row['s']}", f"s||{row['s']}"))
    if {field: int(value) for field, value in found.items()} != dict(exact):
        yield f"the counters are {found}, expected {dict(exact)}"


def _locked_by_name(look: Look, found: dict[str, str]) -> Counter[str]:
    """The locked tasks of each name: those in its index that no counter has. A lost record may be in an index alone."""
    placed = set().union(*look.states.values())
    locked = Counter(
        {name: len(placed.intersection(look.picture.order(f"name:{name}"))) for name in look.picture.under("name:")}
    )
    for field, value in found.items():
        if field.startswith("n|"):
            locked[field[2:].rpartition("|")[0]] -= int(value)
    return locked


def ends(look: Look) -> Problems:
    """What is leased says so when there is more to know at its end than its state, fence and name."""
    for key, row in look.records.items():
        if row["s"] not in states.table().leased:
            continue
        if not row.keys().isdisjoint(LIGHT) and "m" not in row:
            yield f"the end of {key} would not heed its fields {sorted(row.keys() & LIGHT)}"
        if not row.keys().isdisjoint(MORE) and row.get("m") != "1":
            yield f"the end of {key} would not heed its fields {sorted(row.keys() & MORE)}"


def facets(look: Look) -> Problems:
    """The indexes by name, kind, tag and error hold just the tasks that have them."""
    for kind in {*look.picture.under("kind:"), *(row["k"] for row in look.records.values() if "k" in row)}:
        if set(look.picture.order(f"kind:{kind}")) - look.haunted != look.ids(k=kind) - look.haunted:
            yield f"the index of kind {kind} holds {look.picture.order(f'kind:{kind}')}"
    for name in {*look.picture.under("name:"), *(row["n"] for row in look.records.values())}:
        if set(look.picture.order(f"name:{name}")) - look.haunted != look.ids(n=name) - look.haunted:
            yield f"the index of name {name} holds {look.picture.order(f'name:{name}')}"
    for lane in look.picture.under("lane:", sub="jobs"):
        missing = look.ids(k="job", l=lane) - look.picture.members(f"lane:{lane}#jobs") - look.haunted
        if missing:
            yield f"the aggregation {lane} does not know its jobs {sorted(missing)}"
    for lane in look.picture.under("lane:", sub="conf"):
        is_mortal = "idle" in look.picture.hash(f"lane:{lane}#conf")
        if is_mortal and f"~idle:{lane}" not in look.picture.scores("agenda"):
            yield f"the lane {lane} would never vanish"
    tags: dict[str, set[str]] = {tag: set() for tag in look.picture.under("tag:")}
    for key, row in look.records.items():
        for tag in filter(None, row.get("tg", "").split(",")):
            tags.setdefault(tag, set()).add(key)
    for tag, expected in tags.items():
        if set(look.picture.order(f"tag:{tag}")) - look.haunted != expected - look.haunted:
            yield f"the index of tag {tag} holds {look.picture.order(f'tag:{tag}')}, expected {sorted(expected)}"
    for fingerprint in look.picture.under("error:", sub="tasks"):
        found = set(look.picture.order(f"error:{fingerprint}#tasks")) - look.haunted
        expected = look.ids(s="failed", ef=fingerprint) - look.haunted
        if found != expected:
            yield f"the error {fingerprint} lists {sorted(found)}, {sorted(expected)} have it"


def flows(look: Look) -> Problems:
    """No transition happened that the table of states does not have."""
    for minute in look.picture.under("metrics:"):
        for field in look.picture.hash(f"metrics:{minute}"):
            if field.startswith("tr|"):
                for source, target in steps_of(field[3:]):
                    if (source, target) not in states.table().flows:
                        yield f"a task went from {source or 'nowhere'} to {target or 'nowhere'}"


def keys(look: Look) -> Problems:
    """Every key has a known shape and type, what passes has an end, and nothing is left of a task that is gone."""
    for name, kind in look.picture.shapes.items():
        if not kind:
            yield f"nobody knows the key {name}"
        if name in look.picture.foreign and name.removeprefix("task:") not in look.broken:
            yield f"the key {name} is no {kind}"
    yield from (f"the key {name} has no end" for name, left in look.picture.ttls.items() if left == -1)
    for sub in ("log", "next"):
        for key in look.picture.under("task:", sub=sub):
            if key not in look.records and key not in look.broken:
                yield f"the {sub} of {key} is left behind"
    for key in look.records:
        if ("nx" in look.records[key]) != (f"task:{key}#next" in look.picture.shapes):
            yield f"the record of {key} and its stashed next generation disagree"


def families(look: Look) -> Problems:
    """An idle composite has open children, an ended one none; an open child has not ended, and knows its parent.

    Of those in another pool nothing is known here.
    """
    for key, row in look.records.items():
        if "cc" not in row and "ex" not in row:
            continue
        open_children = look.picture.members(f"task:{key}#open")
        if row["s"] in TERMINAL and open_children and f"~cancel:{key}" not in look.picture.scores("agenda"):
            yield f"{key} is {row['s']}, but open are {sorted(open_children)}"
        if row["s"] == State.IDLE and not open_children and "rs" not in row:
            yield f"{key} is idle, but no child of it is open"
        for child in open_children & set(look.records):
            found = look.records[child]
            if (found.get("pi"), found.get("pu")) != (key, row["u"]):
                yield f"{child} is a child of {key}, and does not know it"
            if found["s"] in TERMINAL and not _is_before_its_turn(row, found):
                yield f"{child} is {found['s']}, but open for {key}"
    for sub in ("open", "children", "asked", "far", "latest", "failures"):
        for key in look.picture.under("task:", sub=sub):
            if key not in look.records and key not in look.broken:
                yield f"the {sub} of {key} are left behind"
        for key in look.picture.under("trash:", sub=sub):
            if f"trash:{key}" not in look.picture.shapes:
                yield f"the {sub} of {key} are left behind in the trash"


def commands(look: Look) -> Problems:
    """A command is due, or taken, or dead, and the agenda knows when to look again."""
    places = [set(look.picture.scores(name)) for name in ("commands", "commands_locked", "commands:dead")]
    known, placed = set(look.picture.under("command:")), set().union(*places)
    if known != placed:
        yield f"commands without a place: {sorted(known - placed)}; places without a command: {sorted(placed - known)}"
    yield from (f"the command {key} is dead, and not" for key in places[2] & (places[0] | places[1]))
    due = [at for name in ("commands", "commands_locked") for at in look.picture.scores(name).values()]
    at = look.picture.scores("agenda").get("~commands:")
    if (at is None) != (not due):
        yield f"commands are due at {due}, on the agenda is {at}"
    elif due and at is not None and at > max(min(due), look.picture.now) + SLACK_MS:
        yield f"the first command is due at {min(due)}, the agenda looks at {at}"


def _is_before_its_turn(parent: dict[str, str], child: dict[str, str]) -> bool:
    """Whether a child was cancelled before it had its turn: it is judged when that comes."""
    return child["s"] == State.CANCELLED and (parent["s"] in (State.WAITING, State.POSTPONED) or parent["k"] == "chain")


CHECKS: tuple[Callable[[Look], Problems], ...] = (
    one_state,
    lanes,
    limits,
    paused_names,
    round_of_lanes,
    slots,
    agenda,
    counts,
    ends,
    facets,
    families,
    commands,
    flows,
    keys,
)
