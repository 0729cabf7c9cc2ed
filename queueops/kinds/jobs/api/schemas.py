"""Schemas of the API: what a client sends and gets. A field that is not named here is refused."""

from __future__ import annotations

from typing import Annotated, Any

from ninja import Field, Schema
from pydantic import ConfigDict, StrictBool, StrictFloat, StrictInt, StrictStr

MOST = 1000
"""Jobs of one request."""


class Strict(Schema):
    """A schema that knows all of its fields, and converts no types."""

    model_config = ConfigDict(extra="forbid")


class NewJob(Strict):
    """One job. A field that is left out has the default of `docs/jobs.md`."""

    aggr_id: Annotated[StrictStr, Field(min_length=1, max_length=200)]
    url: StrictStr
    aggr_limit: Annotated[StrictInt, Field(ge=1)] | None = None
    aggr_proxy: StrictStr = ""
    callback_url: StrictStr = ""
    callback_error_url: StrictStr = ""
    extra: StrictStr = ""
    subpath: StrictStr = ""
    mime_type: StrictStr = ""
    extract_image_size: StrictBool = False
    download_timeout: StrictInt | StrictFloat | None = None
    request_headers: dict[str, StrictStr] = {}
    max_retries: Annotated[StrictInt, Field(ge=0)] | None = None

    def options(self) -> dict[str, Any]:
        """The arguments of `jobs.submit`."""
        named = {"proxy": self.aggr_proxy} | {name: getattr(self, name) for name in OF_DOWNLOADS}
        found = {
            "aggregation": self.aggr_id,
            "url": self.url,
            "limit": self.aggr_limit,
            "callback_url": self.callback_url,
            "callback_error_url": self.callback_error_url,
            "extra": self.extra,
            "options": {name: value for name, value in named.items() if value is not None and value != ""},
        }
        return found | ({} if self.max_retries is None else {"retries": self.max_retries})


class NewJobs(Strict):
    """Many jobs: all are taken, or none."""

    jobs: Annotated[list[NewJob], Field(min_length=1, max_length=MOST)]


class Created(Schema):
    """The id of a job."""

    id: str


class CreatedMany(Schema):
    """The ids of jobs, in the order in which they were handed in."""

    ids: list[str]


class ShownJob(Schema):
    """A job as a client sees it. Times are milliseconds since 1970."""

    id: str
    aggr_id: str
    url: str
    state: str
    attempt: int
    retries: int
    created_ms: int
    entered_ms: int
    due_ms: int | None
    error: str
    result: Any


OF_DOWNLOADS = ("subpath", "mime_type", "extract_image_size", "download_timeout", "request_headers")
FIELDS = {"aggregation": "aggr_id", "limit": "aggr_limit", "proxy": "aggr_proxy", "retries": "max_retries"}
"""Options of `jobs.submit` whose field has another name."""
