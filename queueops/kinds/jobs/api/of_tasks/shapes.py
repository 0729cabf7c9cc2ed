"""Shapes of the API of tasks: schemas of what is sent, made from the answers of `inspect`; and of what is asked."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
from ninja import Field
from pydantic import AfterValidator, BaseModel, ConfigDict, StrictBool, StrictStr, WithJsonSchema, create_model
from pydantic_core import PydanticCustomError

from queueops import inspect
from queueops.conf.tables import MOST_RATE
from queueops.control.lanes import LEAST_RATE, MOST_WEIGHT
from queueops.control.tasks import LONGEST_S
from queueops.control.verbs import FREEING, ON_TASKS
from queueops.inspect import TaskQuery
from queueops.inspect.export import TASK_COLUMNS
from queueops.inspect.filter_text import LONGEST
from queueops.inspect.query import FACETS
from queueops.kinds.jobs.api.field_types import Cursor, Limit, Number, Plain, Priority, Retries, whole
from queueops.kinds.jobs.api.schemas import Strict
from queueops.model.ids import ID, NAME
from queueops.model.states import FINISHED, table

MOST = 200
IDS = 500
MOST_TASKS = 10**9
PLAIN = (str, int, float, bool, int | None, float | None, tuple[str, ...])


def _id(value: str) -> str:
    """The same text, if a task may have it as its id. Raises PydanticCustomError."""
    if not ID.fullmatch(value):
        raise PydanticCustomError("id", "it is not an id")
    return value


Name = Annotated[StrictStr, Field(min_length=1, max_length=100, json_schema_extra={"pattern": f"^{NAME.pattern}$"})]
Id = Annotated[StrictStr, Field(min_length=1, max_length=200, json_schema_extra={"pattern": f"^{ID.pattern}$"})]
Ids = Annotated[list[Annotated[Id, AfterValidator(_id)]], Field(min_length=1, max_length=IDS)]
Text = Annotated[StrictStr, Field(max_length=500)]
Seconds = Annotated[Number, Field(ge=0, le=LONGEST_S)]


def shape(name: str, of: type[msgspec.Struct], columns: tuple[str, ...] = ()) -> type[BaseModel]:
    """The schema of a struct, or of some of its fields. What is nested is any JSON."""
    fields = {each.name: each.type for each in msgspec.structs.fields(of)}
    chosen = {key: fields[key] if fields[key] in PLAIN else Any for key in columns or fields}
    return create_model(name, **{key: (type, ...) for key, type in chosen.items()})  # type: ignore[call-overload, no-any-return]


Next: Any = Annotated[str, Field(description="The `after` of the next page; empty at the end.")]
Partial: Any = Annotated[bool, Field(description="The page ended before it was full; `next` continues.")]
Missing: Any = Annotated[list[str], Field(description="Pools that could not be read, and why.")]


def page(name: str, row: Any) -> type[BaseModel]:
    """The schema of a page: its rows, and where the list continues."""
    return create_model(name, rows=(list[row], ...), next=(Next, ""), partial=(Partial, False), missing=(Missing, []))


Task = shape("Task", inspect.TaskRow, TASK_COLUMNS)
TaskDetail = shape("TaskDetail", inspect.TaskDetail)
Tasks = page("Tasks", Task)
Lanes = page("Lanes", shape("Lane", inspect.LaneRow))
Workers = page("Workers", shape("Worker", inspect.WorkerRow))
Errors = page("Errors", shape("ErrorGroup", inspect.ErrorRow))
Schedules = page("Schedules", shape("Schedule", inspect.ScheduleRow))
Runs = page("Runs", shape("Run", inspect.RunFacts))


class Paged(BaseModel):
    """Which page, and how many rows it has."""

    after: Cursor = ""
    limit: Annotated[int, Field(ge=1, le=MOST)] = 50


Facet = Annotated[str, WithJsonSchema({"type": "string", "maxLength": 200, "pattern": "^[^#]*$"})]
_STATE = f"({'|'.join(map(str, table().states))})"
State = Annotated[str, WithJsonSchema({"type": "string", "pattern": f"^({FINISHED}|{_STATE}(,{_STATE})*)?$"})]
Free = Annotated[str, WithJsonSchema({"type": "string", "format": "filter"})]
"""A text with a grammar that JSON Schema cannot describe."""

if TYPE_CHECKING:  # a type checker sees no field of a schema that is made

    class TaskFilter(Paged):
        """The filter of the task list."""
else:
    TaskFilter = create_model(
        "TaskFilter",
        __base__=Paged,
        **{
            name: (State if name == "state" else Facet if name in FACETS else Free, "")
            for name in TaskQuery.__struct_fields__  # those of the page's URL
        },
    )


class InPool(Paged):
    """A page of the rows of one pool, or of all."""

    pool: Annotated[str, Field(max_length=200)] = ""


class RunFilter(InPool):
    """The filter of the list of runs; its fields are those of the page's URL."""

    state: Free = ""
    name: Facet = ""
    instance: Free = ""
    tag: Facet = ""


class NewTask(Strict):
    """A task to push, by its name. Without `pool`, `lane` and the rest, those of its code apply."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"name": "shop.charge", "args": [4711], "delay": 60}]}
    )
    name: Id
    args: Annotated[list[Any], Plain] = []
    kwargs: Annotated[dict[str, Any], Plain] = {}
    pool: Name | None = None
    lane: Name | None = None
    priority: Priority | None = None
    retries: Retries | None = None
    delay: Seconds | None = None
    timeout: Annotated[Number, Field(gt=0, le=LONGEST_S)] | None = None
    tags: Annotated[list[Name], Field(max_length=10)] | None = None


class Pushed(BaseModel):
    """The task that was pushed."""

    id: str


NEEDED = {"seconds": "number", "priority": "integer", "lane": "string"}
"""Fields that a verb needs if it takes them, with their types."""


def _by_verb(verbs: Iterable[str], example: dict[str, Any]) -> Callable[[dict[str, Any]], None]:
    """Add an example to a schema, and which fields each verb takes."""
    fields = {name for verb in ON_TASKS.values() for name in verb.takes}

    def describe(schema: dict[str, Any]) -> None:
        schema["examples"] = [example]
        schema["anyOf"] = [
            {
                "properties": {
                    "verb": {"const": verb.name},
                    **{name: {"type": "null"} for name in sorted(fields - set(verb.takes))},
                    **{name: {"type": NEEDED[name]} for name in verb.takes if name in NEEDED},
                },
                "required": [name for name in verb.takes if name in NEEDED],
            }
            for verb in map(ON_TASKS.__getitem__, verbs)
        ]

    return describe


class OfVerb(Strict):
    """What verbs take. A field that the verb does not take is refused."""

    seconds: Annotated[Seconds, Field(description="Of postpone and keep: from now.")] | None = None
    priority: Priority | None = None
    lane: Name | None = None
    reason: Annotated[Text, Field(description="Of cancel: it stays with the task.")] | None = None
    everything: StrictBool | None = None
    hard: StrictBool | None = None


class Verb(OfVerb):
    """A verb on at most 500 tasks of a pool. A field that the verb does not take is refused."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra=_by_verb(
            ON_TASKS, {"verb": "postpone", "ids": ["01J5XK8Q1M"], "pool": "mail", "seconds": 600}
        ),
    )
    verb: Literal[tuple(ON_TASKS)]  # type: ignore[valid-type]
    ids: Ids
    pool: Name = "default"


OF_ALL = tuple(name for name, verb in ON_TASKS.items() if not verb.fixed and name not in ("restore", *FREEING))
"""The verbs on all tasks that match, which workers perform."""
Conditions = Annotated[
    StrictStr,
    Field(min_length=1, max_length=LONGEST),
    WithJsonSchema({"type": "string", "minLength": 1, "maxLength": LONGEST, "format": "conditions"}),
]


class VerbOnAll(OfVerb):
    """A verb on all tasks that match a filter now; workers perform it."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra=_by_verb(OF_ALL, {"verb": "retry", "filter": "state:failed name:shop.* age>10m"}),
    )
    verb: Literal[OF_ALL]  # type: ignore[valid-type]
    filter: Annotated[Conditions, Field(description="As in the search line of the console. It names no id.")]
    most: whole(1, MOST_TASKS, description="At most so many tasks are changed.") | None = None  # type: ignore[valid-type]


class RunVerb(Strict):
    """A verb on at most 500 runs of a pool."""

    verb: Literal["cancel_runs", "suspend_runs", "resume_runs", "retry_runs"]
    ids: Ids
    pool: Name = "default"
    reason: Text = ""


class LaneVerb(Strict):
    """Pause or resume a lane, or set its limits; null takes a limit away."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"verb": "set_lane", "pool": "default", "lane": "api", "limit": 4}],
            "anyOf": [
                {"properties": {"verb": {"const": "set_lane"}}},
                {"properties": {key: {"type": "null"} for key in ("limit", "rate", "weight")}},
            ],
        },
    )
    verb: Literal["pause", "resume", "set_lane"]
    pool: Name = "default"
    lane: Name
    limit: Limit | None = None
    rate: Annotated[Number, Field(ge=LEAST_RATE, le=MOST_RATE)] | None = None
    weight: whole(1, MOST_WEIGHT) | None = None  # type: ignore[valid-type]


class NameVerb(Strict):
    """Pause or resume all tasks of a name, in one pool or in all."""

    verb: Literal["pause_name", "resume_name"]
    name: Id
    pool: Annotated[StrictStr, Field(max_length=100)] = ""


class WorkerVerb(Strict):
    """Ask a worker process to claim nothing more, to stop, or for its stacks."""

    verb: Literal["quiet", "stop", "stacks"]
    id: Annotated[StrictStr, Field(min_length=1, max_length=200)]


class ScheduleVerb(Strict):
    """Pause or resume a schedule, or run its task now."""

    verb: Literal["pause_schedule", "resume_schedule", "run_schedule"]
    id: Id
    pool: Annotated[StrictStr, Field(max_length=100)] = ""


class Row(BaseModel):
    """What became of one task: OK, REPEAT, REFUSED, GONE or STALE. With the scope `view` its state, and the reason."""

    id: str
    word: str
    state: str
    detail: str


class Done(BaseModel):
    """What became of each task."""

    rows: list[Row]


class Begun(BaseModel):
    """An operation of a pool. It is a task: its page and `/tasks/<id>` show how far it is."""

    pool: str
    id: str


class AllBegun(BaseModel):
    """The operations that have begun, one in each pool with such tasks."""

    operations: list[Begun]
    missing: Missing


class Did(BaseModel):
    """Whether something changed; of a schedule that ran, the id of its task."""

    changed: bool
    id: str = ""
