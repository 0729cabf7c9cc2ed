"""Client of the API: what a good job is, and how a test sends one."""

from __future__ import annotations

import json
from typing import Any

from django.test import Client

GOOD = {
    "aggr_id": "shop",
    "aggr_limit": 3,
    "url": "http://93.184.215.14/a.jpg",
    "callback_url": "https://a.example/done",
}


def sent_by(api: Client, name: str) -> Client:
    """A client with the token of another client of the fixture `api`."""
    secrets: dict[str, str] = api.secrets  # type: ignore[attr-defined]
    return Client(headers={"authorization": f"Bearer {secrets[name]}"})


def post(api: Client, body: Any, path: str = "jobs", **headers: str) -> tuple[int, Any]:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    response = api.post(f"/api/v1/{path}", data, content_type="application/json", headers=sent)
    assert response.status_code < 300 or response["Content-Type"] == "application/problem+json"
    return response.status_code, response.json()


def get(api: Client, path: str, **query: Any) -> Any:
    """The decoded answer to a GET that succeeds."""
    response = api.get(f"/api/v1/{path}", query)
    assert response.status_code == 200, response.content
    return response.json()
