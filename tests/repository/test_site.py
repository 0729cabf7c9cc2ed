"""The site that `mkdocs build` makes of `docs/`: no warning, all public names, nothing from another host."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

import pytest

from tests.repository.reference_pages import PACKAGES
from tests.support.once_per_run import made_once

if TYPE_CHECKING:
    from tests.support.shared_browser import SharedBrowser

ROOT = Path(__file__).parents[2]
LOADED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href"}
"""The attribute of each element that makes a browser load something."""


@pytest.fixture(scope="module")
def site() -> Path:
    return made_once("site", build)


def build(folder: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(folder)]
    quiet = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=quiet, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


class Loads(HTMLParser):
    """The addresses that a page loads."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        address = given.get(LOADED.get(tag, "")) or ""
        if given.get("rel") != "canonical":
            self.found.append(address)


def foreign(path: Path) -> list[str]:
    """What a file of the site loads from another host."""
    text = path.read_text()
    if path.suffix == ".css":
        loaded = re.findall(r"(?:url\(|@import)\s*['\"]?([^'\")]+)", text)
    else:
        page = Loads()
        page.feed(text)
        loaded = page.found
    return [address for address in loaded if re.match(r"(?:\w+:)?//", address)]


def missing(site: Path, package: str) -> list[str]:
    """The public names of a package that its page of the reference lacks."""
    page = (site / "reference" / package.partition(".")[2] / "index.html").read_text()
    return [name for name in import_module(package).__all__ if f'id="{package}.{name}"' not in page]


def test_the_site_has_each_public_name_and_names_no_other_host_to_load_from(site: Path) -> None:
    files = [*site.rglob("*.html"), *site.rglob("*.css")]
    assert len(files) > 30
    assert {path.name: found for path in files if (found := foreign(path))} == {}
    assert {package: found for package in PACKAGES if (found := missing(site, package))} == {}


@pytest.mark.browser
def test_a_browser_that_reads_and_searches_asks_no_other_host(site: Path, chromium: SharedBrowser) -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site)))
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    own = f"http://127.0.0.1:{server.server_address[1]}/"
    asked: list[str] = []
    try:
        with chromium.lent() as browser:
            page = browser.new_context().new_page()
            page.on("request", lambda request: asked.append(request.url))
            for path in ("", "start/", "guides/callbacks/", "reference/"):
                page.goto(own + path)
            page.get_by_role("textbox", name="Search").fill("retries")
            page.locator(".md-search-result__item").first.wait_for()
    finally:
        server.shutdown()
        thread.join(60)
        server.server_close()
    assert len(asked) > 10
    assert [url for url in asked if not url.startswith((own, "data:", "blob:"))] == []


class Quiet(SimpleHTTPRequestHandler):
    """Files of a folder, without a line for each request."""

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""
