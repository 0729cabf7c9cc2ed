"""The one place that builds the names of Redis keys (redis.md).

Sub-keys of a record or a lane are joined by ``#``, which no id may hold: an id that ends in ``:log`` can't meet
another task's log.
"""

from __future__ import annotations


def pools(namespace: str) -> str:
    """The set of all pools of a namespace."""
    return f"{{{namespace}}}:pools"


class Keys:
    """The keys of one pool; all share one hash tag, so that a pool is one cluster slot."""

    __slots__ = ("namespace", "pool", "prefix")

    def __init__(self, namespace: str, pool: str) -> None:
        """Bind the namespace and the pool."""
        self.namespace, self.pool = namespace, pool
        self.prefix = f"{{{namespace}:{pool}}}"

    def __getattr__(self, name: str) -> str:
        """A key without a variable part: agenda, lanes, workers, idle, names, tags, errors, counts, clock, seq, ..."""
        if name not in _PLAIN:
            raise AttributeError(name)
        return f"{self.prefix}:{_PLAIN[name]}"

    def task(self, task_id: str) -> str:
        """The record."""
        return f"{self.prefix}:task:{task_id}"

    def log(self, task_id: str) -> str:
        """The log and the attempts of a task."""
        return f"{self.prefix}:task:{task_id}#log"

    def last(self, task_id: str) -> str:
        """The generation before, kept for a minute for those who waited for its end."""
        return f"{self.prefix}:task:{task_id}#last"

    def done(self, task_id: str) -> str:
        """The channel on which a task's waiters are told of its end."""
        return f"{self.prefix}:task:{task_id}#done"

    def chunks(self, task_id: str, state: str) -> str:
        """The chunks of a map-reduce task in one state."""
        return f"{self.prefix}:task:{task_id}#chunks:{state}"

    def chunk(self, task_id: str, number: int) -> str:
        """The record of one chunk."""
        return f"{self.prefix}:task:{task_id}#{number}"

    def trash(self, task_id: str) -> str:
        """A deleted record, kept for a while."""
        return f"{self.prefix}:trash:{task_id}"

    def state(self, state: str) -> str:
        """The index of a state."""
        return f"{self.prefix}:state:{state}"

    def lane(self, lane: str) -> str:
        """The ready tasks of a lane, in claim order."""
        return f"{self.prefix}:lane:{lane}"

    def lane_conf(self, lane: str) -> str:
        """A lane's limit, rate, weight and pause."""
        return f"{self.prefix}:lane:{lane}#conf"

    def lane_active(self, lane: str) -> str:
        """Who holds the slots of a lane with a limit."""
        return f"{self.prefix}:lane:{lane}#active"

    def name(self, name: str) -> str:
        """The tasks of one name, score = generation."""
        return f"{self.prefix}:name:{name}"

    def tag(self, tag: str) -> str:
        """The tasks of one tag, score = generation."""
        return f"{self.prefix}:tag:{tag}"

    def error(self, fingerprint: str) -> str:
        """What is known of one kind of error."""
        return f"{self.prefix}:error:{fingerprint}"

    def error_tasks(self, fingerprint: str) -> str:
        """The failed tasks of one kind of error."""
        return f"{self.prefix}:error:{fingerprint}#tasks"

    def metrics(self, minute: int) -> str:
        """The counters of one minute since the epoch."""
        return f"{self.prefix}:metrics:{minute}"

    def schedule(self, schedule: str) -> str:
        """What is known of a schedule."""
        return f"{self.prefix}:schedule:{schedule}"

    def schedule_log(self, schedule: str) -> str:
        """What a schedule did, the last 100 lines."""
        return f"{self.prefix}:schedule:{schedule}#log"

    def command(self, command: str) -> str:
        """What is known of a command to another pool."""
        return f"{self.prefix}:command:{command}"

    def worker(self, worker: str) -> str:
        """What a worker says of itself."""
        return f"{self.prefix}:worker:{worker}"

    def wake(self, worker: str) -> str:
        """A worker's wake-up tokens."""
        return f"{self.prefix}:wake:{worker}"


_PLAIN = {
    "agenda": "agenda",
    "clock": "clock",
    "commands": "commands",
    "commands_dead": "commands:dead",
    "commands_locked": "commands_locked",
    "counts": "counts",
    "errors": "errors",
    "events": "events",
    "idle": "idle",
    "lanes": "lanes",
    "lanes_ready": "lanes:ready",
    "names": "names",
    "sampler": "sampler",
    "schedules": "schedules",
    "seq": "seq",
    "snapshot": "snapshot",
    "tags": "tags",
    "tail": "tail",
    "trashed": "trashed",
    "workers": "workers",
}
