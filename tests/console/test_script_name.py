"""The stand-alone project below a path of its host: by the server's SCRIPT_NAME, and by FORCE_SCRIPT_NAME."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from django.contrib.staticfiles.storage import staticfiles_storage
from django.urls import set_script_prefix

from console.project.static_files import HashedFiles
from tests.support.webserver import WebServer, cookies_of

PATH = "/tools/queue"
FORCED = f"""
from tests.settings import *
FORCE_SCRIPT_NAME = "{PATH}"
"""


@pytest.mark.parametrize("is_forced", [False, True])
def test_a_page_and_all_that_it_needs_are_below_the_script_name(tmp_path: Path, is_forced: bool) -> None:
    """A proxy strips a forced path; the server strips its own."""
    (tmp_path / "forced.py").write_text(FORCED)
    own = {"PYTHONPATH": f"{Path.cwd()}:{tmp_path}", "DJANGO_SETTINGS_MODULE": "forced"}
    with WebServer(tmp_path, **(own if is_forced else {"SCRIPT_NAME": PATH})) as server:
        answer = server.log_in("ada", "correct horse")
        assert (answer.status, answer.headers["Location"]) == (302, f"{PATH}/ops/")
        stripped = PATH if is_forced else ""
        page = server.ask("GET", f"{server.prefix}/ops/", Cookie=cookies_of(answer)).text
        found = set(re.findall(r'(?:src|href|hx-get|action)="(/[^"#?]*)', page))
        assert {url for url in found if not url.startswith(f"{PATH}/")} == set()
        static = {url for url in found if url.endswith((".css", ".js", ".svg"))}
        assert len(static) >= 3
        for url in static:
            assert server.ask("GET", url.removeprefix(stripped)).status == 200
        front = server.ask("GET", server.prefix + "/")
        assert front.headers["Location"] == f"{PATH}/ops/"


@pytest.mark.parametrize(
    ("given", "url"),
    [
        ("/static/", f"{PATH}/static/a.css"),
        (f"{PATH}/static/", f"{PATH}/static/a.css"),
        ("https://static.example.org/", "https://static.example.org/a.css"),
        ("//static.example.org/", "//static.example.org/a.css"),
    ],
)
def test_a_static_url_that_has_the_prefix_or_another_host_stays(given: str, url: str, settings: Any) -> None:
    settings.DEBUG = True  # no manifest is needed
    set_script_prefix(f"{PATH}/")
    try:
        assert HashedFiles(base_url=given).url("a.css") == url
        settings.STATIC_URL = given
        assert staticfiles_storage.url("a.css") == url
    finally:
        set_script_prefix("/")
