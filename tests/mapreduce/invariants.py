"""What is true of the chunks of a pool between any two calls, beside what is true of its tasks."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator

from queueops.kinds.mapreduce.states import CHUNK_TRANSITIONS, ChunkState
from queueops.model.states import TERMINAL as TERMINAL_STATES
from queueops.redis.broker import RedisBroker
from tests.kernel import invariants
from tests.kernel.picture import Picture

STATES = [str(state) for state in ChunkState]
TERMINAL = {str(state) for state in TERMINAL_STATES}
FLOWS = {(str(source), str(target)) for source, target, *_ in CHUNK_TRANSITIONS}
SLACK_MS = 2000

Problems = Iterator[str]


class Parts:
    """The chunks under one id: the five sets, the records, the second runs, the numbers on the agenda."""

    def __init__(self, picture: Picture, task_id: str, on_agenda: set[str]) -> None:
        self.id, self.picture, self.on_agenda = task_id, picture, on_agenda
        self.sets = {state: picture.scores(f"task:{task_id}#chunks:{state}") for state in STATES}
        self.twins = picture.members(f"task:{task_id}#chunks:twins")
        self.by = {worker: int(count) for worker, count in picture.hash(f"task:{task_id}#chunks:by").items()}
        self.task = picture.hash(f"task:{task_id}")
        self.trashed = picture.hash(f"trash:{task_id}")
        self.stages = picture.scores(f"task:{task_id}#chunks:stages")
        self.waiting = f"~chunks:{task_id}" in picture.scores("agenda")

    def record(self, number: str) -> dict[str, str]:
        return self.picture.hash(f"task:{self.id}#{number}")

    def members(self, *wanted: str) -> set[str]:
        return {number for state in wanted for number in self.sets[state]}

    def key(self, part: str) -> set[str]:
        """What of the key of its chunks is in this part."""
        name = f"limit:{self.task['n']} {self.task['ck']}#{part}"
        return set(self.picture.scores(name)) if part == "waiting" else self.picture.members(name)

    @property
    def open(self) -> set[str]:
        return self.members("pending", "active", "errored")

    @property
    def number(self) -> int:
        return sum(map(len, self.sets.values()))


def check(
    broker: RedisBroker, pool: str = "default", *, lost: Collection[str] = (), **known: Collection[str]
) -> Picture:
    """Assert every invariant, of tasks and of chunks. ``lost`` are chunks whose record was destroyed, by reference."""
    picture = invariants.check(broker, pool, **known)
    on_agenda: dict[str, set[str]] = defaultdict(set)
    for key in picture.scores("agenda"):
        task_id, _, number = key.partition("#")
        if number and not number.endswith("~"):
            on_agenda[task_id].add(number)
    found = {task_id: Parts(picture, task_id, on_agenda[task_id]) for task_id in sorted(ids(picture))}
    problems = list(flows(picture)) + list(orphans(picture, found)) + list(running(picture, set(lost)))
    for task_id, parts in found.items():
        for each in CHECKS:
            problems += [f"{task_id}: {problem}" for problem in each(parts, {r for r in lost if r.startswith(task_id)})]
    assert not problems, "\n".join(problems)
    return picture


def ids(picture: Picture) -> set[str]:
    return {name[5:].partition("#")[0] for name in picture.shapes if name.startswith("task:") and "#" in name}


def one_set(parts: Parts, lost: set[str]) -> Problems:
    """Each chunk is in exactly one of the five sets, and its record agrees; pending ones are ordered by number."""
    places = Counter(number for found in parts.sets.values() for number in found)
    yield from (f"chunk {number} is in {count} sets" for number, count in places.items() if count > 1)
    for state, found in parts.sets.items():
        for number, score in found.items():
            row = parts.record(number)
            if f"{parts.id}#{number}" not in lost and row.get("s") != state:
                yield f"chunk {number} is in {state}, its record says {row.get('s')}"
            if state == "pending" and score != int(number):
                yield f"chunk {number} is pending at {score}"
            if state != "pending" and score > parts.picture.now + 10**8:
                yield f"chunk {number} is {state} at {score}"


def agenda(parts: Parts, lost: set[str]) -> Problems:
    """Active and errored chunks are on the agenda, the others are not."""
    expected = parts.members("active", "errored")
    if parts.on_agenda != expected:
        yield f"on the agenda are {sorted(parts.on_agenda)}, expected {sorted(expected)}"


def lane(parts: Parts, lost: set[str]) -> Problems:
    """The chunks are in the round of lanes if and only if they may be claimed; no more run than may."""
    limit = int(parts.task["mx"]) if "mx" in parts.task else None
    active = len(parts.sets["active"])
    may = parts.task.get("s") == "aggregating" and "rd" not in parts.task
    expected = may and bool(parts.sets["pending"]) and (limit is None or active < limit)
    if "ck" in parts.task:
        yield from turns(parts, expected)
        expected = f"#{parts.id}" in parts.key("turn")
    if (f"#{parts.id}" in parts.picture.scores("lanes:ready")) != expected:
        yield f"its lane is {'not ' if expected else ''}in the round, with {parts.task} and {counts(parts)}"
    if limit is not None and active > limit:
        yield f"{active} chunks run, {limit} may"


def turns(parts: Parts, wants: bool) -> Problems:
    """Of a key its lane has a turn, or waits for one, if it has a chunk to begin; what runs is in `#active`."""
    lane = f"#{parts.id}"
    has, waits = lane in parts.key("turn"), lane in parts.key("waiting")
    if (has, waits) not in ([(True, False), (False, True)] if wants else [(False, False)]):
        yield f"its lane wants a turn: {wants}; it has one: {has}, and waits for one: {waits}"
    twins = {number: parts.record(f"{number}~").get("s", "") for number in parts.twins}
    runs = {f"{parts.id}#{number}" for number in parts.sets["active"] if "ch" in parts.task}
    runs |= {f"{parts.id}#{number}~" for number, state in twins.items() if state == "active"}
    if (found := {member for member in parts.key("active") if member.startswith(f"{parts.id}#")}) != runs:
        yield f"{found} run by their key, {runs} by their records"
    for number, state in twins.items():
        places = {part for part in ("turn", "waiting") if f"{parts.id}#{number}~" in parts.key(part)}
        if len(places) != (state == "pending"):
            yield f"the second run {number} is {state}, and in {places} of its key"


def by_worker(parts: Parts, lost: set[str]) -> Problems:
    """Where a worker may have so many, how many each has is known."""
    if "xw" not in parts.task or lost or parts.task.get("s") != "aggregating":
        return
    found = Counter(parts.record(number)["w"] for number in parts.sets["active"])
    if dict(found) != parts.by:
        yield f"workers have {dict(found)}, counted are {parts.by}"


def second_runs(parts: Parts, lost: set[str]) -> Problems:
    """A second run has a record, a note at its chunk, and a place: a lane while it waits, the agenda while it runs."""
    under = parts.picture.under(f"task:{parts.id}#")
    records = {name.removesuffix("~") for name in under if name.endswith("~")}
    noted = {number for number in parts.members(*STATES) if "tw" in parts.record(number)}
    if not records == parts.twins == noted | {n for n in parts.twins if f"{parts.id}#{n}" in lost}:
        yield f"second runs: records of {sorted(records)}, the set {sorted(parts.twins)}, notes at {sorted(noted)}"
    for number in records:
        ref, row = f"{parts.id}#{number}~", parts.record(f"{number}~")
        waits = ref in parts.picture.scores(f"lane:{row['l']}")
        waits |= "ck" in parts.task and ref in parts.key("waiting")
        runs = ref in parts.picture.scores("agenda")
        if (waits, runs) != (row["s"] == "pending", row["s"] == "active"):
            yield f"the second run {number} is {row['s']}, in a lane: {waits}, on the agenda: {runs}"


def stage(parts: Parts, lost: set[str]) -> Problems:
    """A task gathers while chunks are open, and only then; at its reduce all chunks have ended; none was forgotten."""
    task, gathers = parts.task, parts.task.get("s") == "aggregating"
    if gathers and not (parts.open or "rd" in task):
        yield f"it gathers, but no chunk is open: {counts(parts)}"
    if task.get("ph") == "reduce" and parts.open:
        yield f"it reduces, but chunks are open: {counts(parts)}"
    if (gathers or task.get("ph")) and parts.number != int(task["cn"]):
        yield f"it has {parts.number} chunks, there were {task['cn']}"
    if gathers and "rd" not in task and int(task["pr"]) != int(task["cn"]) - len(parts.open):
        yield f"its progress is {task['pr']} of {task['cn']}, open are {len(parts.open)}"
    dropped = {number for number, score in parts.sets["failed"].items() if score < 0 or score % 1}
    known = int((task or parts.trashed).get("xd", 0))
    if known != len(dropped):
        yield f"{known} chunks were let go, of {len(dropped)} the score says so"
    if not lost and dropped != {number for number in parts.sets["failed"] if "dr" in parts.record(number)}:
        yield f"{sorted(dropped)} were let go by their score, but not by their record"
    if gathers and "rd" in task and f"~redo:{parts.id}" not in parts.picture.scores("agenda"):
        yield "nobody goes on with moving its chunks back"


def unfinished_map(parts: Parts, lost: set[str]) -> Problems:
    """What a map wrote is known by stages for as long as it has not ended; all of it is there, and waits."""
    written = int(parts.task.get("mw", 0))
    if "cn" in parts.task and (parts.stages or "mw" in parts.task):
        yield f"its map has ended, but the stages {sorted(parts.stages)} are still known"
    if written and max(parts.stages.values(), default=0) == written:
        there = {int(number) for number, score in parts.sets["pending"].items() if score < written}
        if there != set(range(written)):
            yield f"its map wrote {written} chunks, but {len(there)} of them wait"


def owner(parts: Parts, lost: set[str]) -> Problems:
    """Chunks belong to a record, in its place or in the trash; else they are about to be deleted."""
    if parts.number and not (parts.waiting or "ch" in parts.task or "ch" in parts.trashed):
        yield f"{parts.number} chunks belong to nobody"


def running(picture: Picture, lost: set[str]) -> Problems:
    """The index of active ones has just the chunks and the second runs that are held."""
    expected, agenda_ = set(), picture.scores("agenda")
    for name in picture.shapes:
        if name.startswith("task:") and name.endswith("#chunks:active"):
            task_id = name[5:].partition("#")[0]
            expected |= {f"{task_id}#{number}" for number in picture.scores(name)}
        elif name.startswith("task:") and name.endswith("~") and picture.hash(name)["s"] == "active":
            expected.add(name[5:])
    found = set(picture.scores("state:active"))
    if found - lost != expected - lost:
        yield f"active are {sorted(expected)}, the index has {sorted(found)}"
    latest = picture.now + 10**7
    for ref in found - lost:
        if not 0 < agenda_.get(ref, 0) <= latest:
            yield f"{ref} is held until {agenda_.get(ref)}"


def orphans(picture: Picture, found: dict[str, Parts]) -> Problems:
    """No record of a chunk, and no log, is in none of the sets of its task."""
    members = {task_id: parts.members(*STATES) for task_id, parts in found.items()}
    for name in picture.shapes:
        task_id, _, rest = name.removeprefix("task:").partition("#")
        number = rest.removesuffix("#log").removesuffix("~")
        if name.startswith("task:") and number.isdigit() and number not in members[task_id]:
            yield f"{name} is left behind"


def flows(picture: Picture) -> Problems:
    """No transition happened that the table of states does not have."""
    for minute in picture.under("metrics:"):
        for field in picture.hash(f"metrics:{minute}"):
            if field.startswith("ch|") and tuple(field[3:].split(">")) not in FLOWS:
                yield f"a chunk went {field[3:]}"


def counts(parts: Parts) -> dict[str, int]:
    return {state: len(found) for state, found in parts.sets.items()}


CHECKS: tuple[Callable[[Parts, set[str]], Problems], ...] = (
    one_set,
    agenda,
    lane,
    by_worker,
    second_runs,
    stage,
    unfinished_map,
    owner,
)
