"""Pages are compressed for browsers that accept it."""

from __future__ import annotations

import gzip

import pytest
from django.test import Client

from tests.console.standin import World

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("path", ["", "_overview", "tasks/", "tasks/missing/", "_history_values?range=1h"])
def test_a_page_is_compressed_for_a_browser_that_accepts_it(world: World, viewer: Client, path: str) -> None:
    plain = viewer.get(f"/ops/{path}")
    assert "Content-Encoding" not in plain.headers
    packed = viewer.get(f"/ops/{path}", headers={"accept-encoding": "gzip"})
    assert packed.status_code == plain.status_code
    assert packed.headers["Content-Encoding"] == "gzip"
    assert packed.headers["Content-Length"] == str(len(packed.content))
    assert "Accept-Encoding" in packed.headers["Vary"]
    assert gzip.decompress(packed.content).decode()[:200] == plain.content.decode()[:200]
    assert len(packed.content) < len(plain.content) / 2
