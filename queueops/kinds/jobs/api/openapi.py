"""OpenAPI description of the API, with what ninja does not see: problems, and the header of idempotency keys."""

from __future__ import annotations

from typing import Any

from ninja import NinjaAPI
from ninja.openapi.schema import OpenAPISchema

from queueops.kinds.jobs.api.problems import CONTENT_TYPE, KEY

LONGEST_KEY = 200
"""Characters of an idempotency key."""
WITH_KEY = ("jobs", "jobs/bulk", "tasks")
"""The paths whose POST takes the header."""
PROBLEM: dict[str, Any] = {
    "title": "Problem",
    "description": "An error (RFC 9457). `errors` names each wrong field of the request, and the reason.",
    "type": "object",
    "required": ["type", "title", "status", "detail"],
    "properties": {name: {"type": "string"} for name in ("type", "title", "detail")}
    | {
        "status": {"type": "integer"},
        "errors": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["field", "reason"],
                "properties": {"field": {"type": "string"}, "reason": {"type": "string"}},
            },
        },
    },
}
CONTENT = {CONTENT_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
REFUSED = {"description": "A problem: the request was refused.", "content": CONTENT}
ALWAYS = {
    401: "The token is missing or unknown.",
    403: "The token does not have the scope, or the setting READ_ONLY is on.",
    413: "The body is too large.",
    422: "A field or a parameter is wrong. `errors` names it.",
    429: "Too many requests. `Retry-After` has the seconds to wait.",
    503: "The store does not answer, or takes no jobs now.",
}
"""Problems of each operation with a token."""
NOT_FOUND = {404: "There is nothing with this id."}
CONFLICT = {409: "The state of the job or the aggregation does not permit it."}
NOT_JSON = {400: "The body is not JSON."}
PROBLEMS = {
    "submit_job": NOT_JSON | CONFLICT,
    "submit_jobs": NOT_JSON | CONFLICT,
    "read_job": NOT_FOUND,
    "retry_job": NOT_FOUND | CONFLICT,
    "cancel_job": NOT_FOUND | CONFLICT,
    "retry_callback": NOT_FOUND | CONFLICT,
    "read_aggregation": NOT_FOUND,
    "change_aggregation": NOT_JSON | NOT_FOUND,
    "delete_aggregation": NOT_FOUND | CONFLICT,
    "read_task": NOT_FOUND,
    "push_task": NOT_JSON | CONFLICT,
    **dict.fromkeys(("act_on_tasks", "act_on_all_tasks"), NOT_JSON),
    "act_on_runs": NOT_JSON,
    **dict.fromkeys(("act_on_lane", "act_on_name", "act_on_worker"), NOT_JSON | NOT_FOUND),
    "act_on_schedule": NOT_JSON | NOT_FOUND | CONFLICT,
}
"""Further problems by operation."""
HEADER = {
    "in": "header",
    "name": KEY,
    "required": False,
    "description": "A repeated request with the same key makes no second job.",
    "schema": {"type": "string", "maxLength": LONGEST_KEY},
}


class DescribedApi(NinjaAPI):
    """A ninja application that describes its errors, too."""

    def get_openapi_schema(
        self, *, path_prefix: str | None = None, path_params: dict[str, Any] | None = None
    ) -> OpenAPISchema:
        """The description, as `/openapi.json` sends it."""
        found = super().get_openapi_schema(path_prefix=path_prefix, path_params=path_params)
        found["components"]["schemas"]["Problem"] = PROBLEM
        for path, operations in found["paths"].items():
            for method, operation in operations.items():
                operation["responses"] |= _problems(operation)
                if method == "post" and path.endswith(tuple(f"/{each}" for each in WITH_KEY)):
                    operation["parameters"] = [*operation["parameters"], HEADER]
        return found


def _problems(operation: dict[str, Any]) -> dict[str, Any]:
    """The answers to requests that an operation refuses, by status, and any other."""
    of_all = ALWAYS if "security" in operation else {503: ALWAYS[503]}
    known = of_all | PROBLEMS.get(operation["operationId"], {})
    found = {str(status): {"description": text, "content": CONTENT} for status, text in sorted(known.items())}
    return found | {"default": REFUSED}
