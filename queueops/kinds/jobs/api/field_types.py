"""Field types of the API: what a value is checked for, and what the OpenAPI document says of it.

A rule that is checked later, with an error of its own, is only described here: a type checks it in no second way.
"""

from __future__ import annotations

import json
from typing import Annotated, Any

from ninja import Field
from pydantic import AfterValidator, BeforeValidator, StrictInt, StrictStr, WithJsonSchema
from pydantic_core import PydanticCustomError

from queueops.control.lanes import MOST_SLOTS
from queueops.errors import advice
from queueops.kinds.jobs.aggregations.job_list import LONGEST_AGE_S
from queueops.kinds.jobs.api_tokens import MOST_BODY
from queueops.kinds.jobs.files.file_store import LONGEST_SUBPATH
from queueops.kinds.jobs.header_rules import MANAGED
from queueops.kinds.jobs.http.net_guard import LONGEST_URL
from queueops.kinds.jobs.submission import JOB_STATES
from queueops.model.ids import NAME
from queueops.model.redact import mask_in

CURSOR = r"^[A-Za-z0-9_-]*$"
HEADER = r"^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,200}$"
VALUE = r"^[\t\x20-\x7e\x80-\xff]{0,8000}$"


def text(**described: Any) -> Any:
    """A text. With a bound, here that of a body, pydantic also refuses a lone surrogate, which UTF-8 cannot encode."""
    return Annotated[StrictStr, Field(max_length=MOST_BODY), WithJsonSchema({"type": "string"} | described)]


def whole(least: int, most: int | None = None, **described: Any) -> Any:
    """A whole number within bounds."""
    return Annotated[StrictInt, Field(ge=least, le=most, json_schema_extra=described or None), BeforeValidator(_whole)]


def _whole(value: Any) -> Any:
    """A whole number may be written with a fraction of zero, as JSON Schema says."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _state(value: str) -> str:
    """The same word, if a job may have this state. Raises PydanticCustomError."""
    if value and value not in JOB_STATES:
        reason = f"no job has the state {value!r}{advice(value, map(str, JOB_STATES))}"
        raise PydanticCustomError("state", "{reason}", {"reason": reason})
    return value


def unmasked(value: Any) -> Any:
    """The same value, if no part of it is a mask: it was shown, and is no input. Raises PydanticCustomError."""
    if value and (mask := mask_in(value if isinstance(value, str) else json.dumps(value))):
        raise PydanticCustomError("mask", "it has {mask} in the place of a secret", {"mask": mask})
    return value


def _in_any_case(word: str) -> str:
    return "".join(f"[{letter}{letter.upper()}]" if letter.isalpha() else letter for letter in word)


Text = text()
Plain = AfterValidator(unmasked)
"""Of a value that is shown with masks."""
OF_URLS = {"format": "uri", "pattern": r"^https?://\S+$", "maxLength": LONGEST_URL}
MaybeUrl = text(anyOf=[OF_URLS, {"const": ""}])
"""A URL, or an empty text for none."""
Subpath = text(
    maxLength=LONGEST_SUBPATH,
    pattern=r"^$|^(?!\.{1,2}(/|$))[^\x00-\x1f\x7f/\\:*?\"<>|]{1,100}(/(?!\.{1,2}(/|$))[^\x00-\x1f\x7f/\\:*?\"<>|]{1,100})*$",
)
Patterns = text(
    maxLength=1000,
    pattern=r"^$|^!?(\*|[A-Za-z0-9.+_*?-]+/[A-Za-z0-9.+_*?-]+)(, ?!?(\*|[A-Za-z0-9.+_*?-]+/[A-Za-z0-9.+_*?-]+))*$",
)
Headers = Annotated[
    dict[str, Annotated[StrictStr, Field(max_length=MOST_BODY)]],
    WithJsonSchema(
        {
            "type": "object",
            "maxProperties": 100,
            "propertyNames": {
                "pattern": HEADER,
                "not": {"pattern": f"^({'|'.join(map(_in_any_case, sorted(MANAGED)))})$|^{_in_any_case('proxy-')}"},
            },
            "additionalProperties": {"type": "string", "pattern": VALUE},
        }
    ),
]
Handler = Annotated[StrictStr, Field(min_length=1, max_length=100, json_schema_extra={"pattern": f"^{NAME.pattern}$"})]
Limit = whole(1, maximum=MOST_SLOTS)
Priority = whole(-100, 100)
Retries = whole(0, maximum=1_000_000)
Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
"""A number, whole or with a fraction."""
Age = Annotated[float, Field(ge=0, le=LONGEST_AGE_S, allow_inf_nan=False)]
"""Seconds, in a parameter of a URL."""
JobState = Annotated[
    str, AfterValidator(_state), WithJsonSchema({"type": "string", "enum": ["", *map(str, JOB_STATES)]})
]
Cursor = Annotated[str, WithJsonSchema({"type": "string", "format": "cursor", "pattern": CURSOR, "maxLength": 20_000})]
"""The `next` of the page before. An empty text means the first page."""
