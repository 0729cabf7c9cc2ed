"""OpenAPI description of the API, with what ninja does not see: problems, and the header of idempotency keys."""

from __future__ import annotations

from typing import Any

from ninja import NinjaAPI
from ninja.openapi.schema import OpenAPISchema

from queueops.kinds.jobs.api.problems import CONTENT_TYPE, KEY

LONGEST_KEY = 200
"""Characters of an idempotency key."""
WITH_KEY = ("jobs", "jobs/bulk")
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
REFUSED = {
    "description": "A problem: the request was refused.",
    "content": {CONTENT_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
}
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
                operation["responses"]["default"] = REFUSED
                if method == "post" and path.endswith(tuple(f"/{each}" for each in WITH_KEY)):
                    operation["parameters"] = [*operation["parameters"], HEADER]
        return found
