"""A cold overview: few requests, compressed files, and nothing that is asked for twice."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.handlers.wsgi import WSGIHandler
from django.core.management import call_command

from console.ui.preferences import PACES, PREFIX
from tests.console.browsing import browsing, serving
from tests.console.standin import World

pytestmark = [pytest.mark.browser, pytest.mark.django_db]
MANIFEST = {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"}
MOST_REQUESTS, MOST_BYTES = 9, 150_000


@pytest.fixture
def deployed(db: None, world: World, settings: Any, tmp_path: Path) -> Iterator[str]:
    """The console as a deployment serves it: collected files, by WhiteNoise."""
    settings.STATIC_ROOT, settings.DEBUG = tmp_path, False
    settings.STORAGES = settings.STORAGES | {"staticfiles": MANIFEST}
    settings.WHITENOISE_USE_FINDERS = settings.WHITENOISE_AUTOREFRESH = False
    call_command("collectstatic", interactive=False, verbosity=0)
    with serving(WSGIHandler()) as url:
        yield url


def test_a_cold_overview_is_light(deployed: str) -> None:
    with browsing(deployed) as open_page:
        page = open_page("settings/")
        slow = {"name": f"{PREFIX}pace", "value": PACES[-1], "url": deployed}
        page.context.add_cookies([slow])  # on a slow machine the page still loads when the usual pace asks again
        network = page.context.new_cdp_session(page)
        asked: set[str] = set()
        answers: dict[str, Any] = {}
        sizes: dict[str, float] = {}

        def note(event: Any) -> None:
            """Note a request of the overview; the page before may still ask for its icon, slowly."""
            of_overview = event["documentURL"] == f"{deployed}/ops/"
            if of_overview and not event["request"]["url"].startswith("data:"):  # of Chromium's own: asks no server
                asked.add(event["requestId"])

        network.on("Network.requestWillBeSent", note)
        network.on("Network.responseReceived", lambda event: answers.update({event["requestId"]: event["response"]}))
        network.on(
            "Network.loadingFinished", lambda event: sizes.update({event["requestId"]: event["encodedDataLength"]})
        )
        network.send("Network.enable")
        network.send("Network.setCacheDisabled", {"cacheDisabled": True})
        page.goto("/ops/", wait_until="networkidle")
        answers = {id: answer for id, answer in answers.items() if id in asked}
        sizes = {id: size for id, size in sizes.items() if id in answers}
        shown = {answers[id]["url"].removeprefix(deployed): round(size) for id, size in sizes.items()}
        assert 0 < len(answers) <= MOST_REQUESTS, shown
        assert sum(sizes.values()) <= MOST_BYTES, shown
        for answer in answers.values():
            headers = {name.lower(): value for name, value in answer["headers"].items()}
            if "/static/" in answer["url"]:
                assert "immutable" in headers["cache-control"], answer["url"]
                assert int(headers["content-length"]) < 1000 or headers["content-encoding"] == "gzip", answer["url"]
