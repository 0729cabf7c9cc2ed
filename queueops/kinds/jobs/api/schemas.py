"""Schemas of the API: what a client sends and gets. A field that is not named here is refused."""

from __future__ import annotations

from typing import Annotated, Any

from ninja import Field, Schema
from pydantic import BaseModel, ConfigDict, StrictBool, StrictStr

from queueops.conf.tables import MOST_RATE
from queueops.control.lanes import LEAST_RATE
from queueops.kinds.jobs.api.field_types import (
    Age,
    Cursor,
    Handler,
    Headers,
    JobState,
    Limit,
    MaybeUrl,
    Number,
    Patterns,
    Plain,
    Priority,
    Retries,
    Subpath,
    Text,
)
from queueops.kinds.jobs.files.download_options import DOWNLOAD, LONGEST

MOST = 1000
"""Jobs of one request."""
LONGEST_DELAY_S = 366 * 86_400


class Strict(BaseModel):
    """A schema that knows all of its fields, and converts no types.

    It is pydantic's own: the base class of ninja looks up each field of each job in a wrapper, which doubles the time.
    """

    model_config = ConfigDict(extra="forbid")


def _by_handler(schema: dict[str, Any]) -> None:
    """Add to the schema of a job: a download has a URL and no `options`, any other job no field of a download."""
    is_download: dict[str, Any] = {"properties": {"handler": {"const": DOWNLOAD}}}
    download = {
        "required": ["url"],
        "properties": {"url": {"minLength": 1, "type": "string"}, "options": {"type": "null"}},
    }
    schema |= {
        "if": is_download,
        "then": download,
        "else": {"properties": dict.fromkeys(("aggr_proxy", *OF_DOWNLOADS), False)},
    }


class NewJob(Strict):
    """One job. A field that is left out has the default of `docs/jobs.md`."""

    model_config = ConfigDict(extra="forbid", json_schema_extra=_by_handler)

    aggr_id: Annotated[StrictStr, Field(min_length=1, max_length=200)]
    url: MaybeUrl | None = None
    handler: Handler = DOWNLOAD
    options: Annotated[dict[str, Any] | None, Plain] = None
    aggr_limit: Limit | None = None
    rate: Annotated[Number, Field(ge=LEAST_RATE, le=MOST_RATE)] | None = None
    delay: Annotated[Number, Field(ge=0, le=LONGEST_DELAY_S)] | None = None
    priority: Priority | None = None
    aggr_proxy: MaybeUrl = ""
    callback_url: MaybeUrl = ""
    callback_error_url: MaybeUrl = ""
    callback_type: Text = ""
    callback_dst: Text = ""
    callback_error_type: Text = ""
    callback_error_dst: Text = ""
    extra: Annotated[Text, Plain] = ""
    subpath: Subpath = ""
    s3_bucket: Text = ""
    s3_region: Text = ""
    mime_type: Patterns = ""
    extract_image_size: StrictBool = False
    download_timeout: Annotated[Number, Field(json_schema_extra={"exclusiveMinimum": 0, "maximum": LONGEST})] | None = (
        None
    )
    request_headers: Headers = {}
    max_retries: Retries | None = None

    def mixed_up(self) -> list[tuple[str, str]]:
        """Fields that do not go with the handler, each with the reason. A download needs a URL, and no options."""
        if self.handler == DOWNLOAD:
            wrong = [("url", "Field required")] if self.url is None else []
            return wrong + ([("options", "A download has fields of its own.")] if self.options is not None else [])
        given = self.model_fields_set & {"aggr_proxy", *OF_DOWNLOADS}
        return [(name, f"Only the handler {DOWNLOAD} has this field.") for name in sorted(given)]

    def arguments(self) -> dict[str, Any]:
        """The arguments of `jobs.submit`."""
        named = {"proxy": self.aggr_proxy} | {name: getattr(self, name) for name in OF_DOWNLOADS}
        of_download = {name: value for name, value in named.items() if value is not None and value != ""}
        maybe = {"rate": self.rate, "retries": self.max_retries, "delay": self.delay, "priority": self.priority}
        return {
            "aggregation": self.aggr_id,
            "handler": self.handler,
            "url": self.url or "",
            "limit": self.aggr_limit,
            "extra": self.extra,
            "options": of_download if self.handler == DOWNLOAD else self.options or {},
            **{name: value for name in OF_CALLBACKS if (value := getattr(self, name))},
            **{name: value for name, value in maybe.items() if value is not None},
        }


class NewJobs(Strict):
    """Many jobs: all are taken, or none."""

    jobs: Annotated[list[NewJob], Field(min_length=1, max_length=MOST)]


class Created(Schema):
    """The id of a job."""

    id: str


class CreatedMany(Schema):
    """The ids of jobs, in the order in which they were handed in."""

    ids: list[str]


class ListFilter(Strict):
    """Where a page of a list begins, and how long it is."""

    after: Cursor = ""
    limit: Annotated[int, Field(ge=1, le=200)] = 50


class JobFilter(ListFilter):
    """Which jobs are listed; a filter that is left out permits all."""

    aggr_id: str = ""
    state: JobState = ""
    host: str = ""
    older_than: Age | None = None
    newer_than: Age | None = None


class ListedJob(Schema):
    """A job in a list. Times are milliseconds since 1970. `error` is the last one, also if the job succeeded later."""

    id: str
    aggr_id: str
    url: str
    state: str
    started_attempts: int
    failed_attempts: int
    attempt: Annotated[int, Field(description="The same as `failed_attempts`.", deprecated=True)]
    retries: int
    created_ms: int
    entered_ms: int
    due_ms: int | None
    error: str


class JobsPage(Schema):
    """One page of jobs; `next` is empty at the end."""

    jobs: list[ListedJob]
    next: str
    partial: bool


class ShownCallback(Schema):
    """The delivery of a job's outcome. `answer` is the last one of the target.

    `state` is `scheduled`, `pending`, `in_flight`, `backing_off`, `dead`, `delivered` or `discarded`.
    """

    id: str
    state: str
    url: str
    started_attempts: int
    failed_attempts: int
    attempt: Annotated[int, Field(description="The same as `failed_attempts`.", deprecated=True)]
    retries: int
    due_ms: int | None
    answer: str


class ShownJob(ListedJob):
    """A job with its result and its callbacks."""

    result: Any
    callbacks: list[ShownCallback]


class Changed(Schema):
    """The record that an action has changed, and its state now."""

    id: str
    state: str


class AggregationChange(Strict):
    """What is to change of an aggregation; a field that is left out stays. `null` takes a limit away."""

    aggr_limit: Limit | None = None
    rate: Annotated[Number, Field(ge=LEAST_RATE, le=MOST_RATE)] | None = None
    aggr_proxy: MaybeUrl = ""
    paused: StrictBool = False
    draining: StrictBool = False


class ShownAggregation(Schema):
    """An aggregation: its limits, and its jobs by state."""

    aggr_id: str
    pool: str
    aggr_limit: int | None
    aggr_proxy: str
    rate: float | None
    paused: bool
    draining: bool
    ready: int
    delayed: int
    in_flight: int
    failed: int
    oldest_ms: int | None


class AggregationsPage(Schema):
    """One page of aggregations, the last used first; `next` is empty at the end."""

    aggregations: list[ShownAggregation]
    next: str


class Statistics(Schema):
    """Jobs and callbacks by state, the number of workers, and the conditions that need attention.

    `counts` are attempts of downloads by answer, callbacks and deleted files since the store is in use.
    """

    jobs: dict[str, int]
    callbacks: dict[str, int]
    counts: dict[str, int]
    workers: int
    alarms: list[str]


class Health(Schema):
    """Whether the process answers, and whether it takes jobs."""

    status: str


OF_DOWNLOADS = (
    "subpath", "s3_bucket", "s3_region", "mime_type", "extract_image_size", "download_timeout", "request_headers",
)  # fmt: skip
OF_CALLBACKS = tuple(f"callback{error}_{end}" for error in ("", "_error") for end in ("url", "type", "dst"))
