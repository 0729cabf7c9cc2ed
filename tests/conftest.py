"""The fixtures that all tests share: one embedded Valkey for the run, a namespace for each test, a look for leaks."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import redis
from django.conf import settings as django_settings
from django.utils import translation

from queueops.events import hub as hubs
from queueops.redis import embedded
from queueops.redis.broker import close_brokers
from queueops.redis.client_factory import connect
from queueops.tasks import discovery, registry
from queueops.testing import eager_store
from tests.support import fork_server, leaks, servers, topology
from tests.support.chromium import find_chromium, find_nginx
from tests.support.places import CLUSTER, free_namespace, is_for_both, parametrize
from tests.support.rig import KIND, Rig

if TYPE_CHECKING:
    from tests.support.shared_browser import SharedBrowser

# The tests start hundreds of processes: without compiled modules each would compile all of them again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False


@pytest.hookimpl(tryfirst=True)
def pytest_collection() -> None:
    """Collecting makes a million objects that stay: the garbage collector would visit them again and again."""
    gc.disable()


def pytest_collection_finish() -> None:
    """What the tests make is collected as ever. Nothing is frozen: Hypothesis needs gc.get_referrers to see all."""
    gc.enable()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """What goes over pools runs twice: on one server, and on a cluster of three."""
    if is_for_both(metafunc):
        parametrize(metafunc)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests need the chosen server, some a browser, some nginx: without it they are skipped, but never in CI."""
    missing = _missing_server()
    if os.environ.get("CI"):
        assert not missing, missing
        return
    for item in items if missing else ():
        item.add_marker(pytest.mark.skip(reason=missing))
    for item in items:
        if "browser" in item.keywords and not find_chromium():
            item.add_marker(pytest.mark.skip(reason="there is no Chromium; install it, or set QUEUEOPS_CHROMIUM"))
        if "nginx" in item.keywords and not find_nginx():
            item.add_marker(pytest.mark.skip(reason="there is no nginx; install it"))


def _missing_server() -> str:
    """Why the chosen server cannot be used; empty if it is."""
    try:
        servers.use_chosen()
    except servers.ServerMissing as error:
        return str(error)
    return ""


@pytest.fixture(scope="session")
def django_db_modify_db_settings_parallel_suffix() -> None:
    """Each process has its database in a directory of its own, under the name that the processes of a test know."""


@pytest.fixture(scope="session")
def store() -> Iterator[embedded.Server]:
    """The embedded server of this run."""
    server = embedded.start(django_settings.STORE, options={"appendfsync": "no"})
    yield server
    fork_server.shared.end()
    embedded.stop(django_settings.STORE)
    eager_store.stop()
    strays = leaks.strays(os.environ["QUEUEOPS_TESTS_DATA"])
    for process in strays:
        process.kill()
    assert not strays, f"these outlived the tests: {strays}"


@pytest.fixture(scope="session")
def store_client(store: embedded.Server) -> Iterator[redis.Redis]:
    """The client of this run's own work between tests: a client for each test costs more than what it does."""
    with connect(store.url) as client:
        yield client


@pytest.fixture(scope="session")
def cluster_client(cluster: str) -> Iterator[redis.Redis]:
    """The same for the cluster: a new one reads the map of the slots first."""
    with connect(cluster) as client:
        yield client


@pytest.fixture(scope="session")
def cluster(store: embedded.Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of three servers that share the slots, for all tests that run on both."""
    with topology.cluster(tmp_path_factory.mktemp("cluster"), "appendfsync no") as (url, _):
        yield url


@pytest.fixture(scope="session")
def chromium(store: embedded.Server) -> Iterator[SharedBrowser]:
    """The browser of this process, for all tests that need one; it ends before the look for strays."""
    from tests.support.shared_browser import shared

    yield shared
    shared.end()


@pytest.fixture
def browser(request: pytest.FixtureRequest) -> None:
    """For a test with the marker `browser`: the browser is there before the leak check looks."""
    if request.node.get_closest_marker("browser"):
        request.getfixturevalue("chromium").start()


@pytest.fixture
def place(request: pytest.FixtureRequest) -> str:
    """Where the test runs; the cluster is there before the leak check looks at what a test leaves behind."""
    found: str = getattr(request, "param", "")
    if found == CLUSTER:
        request.getfixturevalue("cluster")
    return found


@pytest.fixture
def redis_url(place: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, settings: Any) -> str:
    """The store's plain address: a client that meets it gone does not start it again, but the next test does."""
    if place == CLUSTER:
        url: str = request.getfixturevalue("cluster")
        settings.QUEUEOPS = settings.QUEUEOPS | {"URL": url}
        monkeypatch.setenv("QUEUEOPS_TESTS_URL", url)
        return url
    server: embedded.Server = request.getfixturevalue("store")
    try:
        request.getfixturevalue("store_client").ping()
    except redis.RedisError:
        return embedded.start(server.directory).url
    return server.url


@pytest.fixture
def redis_client(redis_url: str) -> Iterator[redis.Redis]:
    """A bare client, to look at what is there."""
    with connect(redis_url) as client:
        yield client


@pytest.fixture
def namespace(
    redis_url: str, place: str, request: pytest.FixtureRequest, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> Iterator[str]:
    """A namespace of the test's own, set for this process and for those that it starts; empty at the start."""
    client = request.getfixturevalue("cluster_client" if place == CLUSTER else "store_client")
    name = free_namespace(client)
    client.flushall()
    settings.QUEUEOPS = settings.QUEUEOPS | {"NAMESPACE": name}
    monkeypatch.setenv("QUEUEOPS_TESTS_NAMESPACE", name)
    yield name
    hubs.close()  # their threads use the brokers' connections
    close_brokers()


@pytest.fixture(autouse=True)
def language_ends() -> Iterator[None]:
    """A request leaves its language to the thread: the next test begins without it."""
    yield
    translation.deactivate()


@pytest.fixture(autouse=True)
def tasks_of_tests() -> Iterator[None]:
    """Tasks that a test defines are run by this process, or known to the processes that it starts."""
    with discovery.tasks_run_here():
        yield


@pytest.fixture(autouse=True)
def no_leaks(place: str, browser: None) -> Iterator[None]:
    """Each test ends what it started."""
    before = leaks.running()
    yield
    found = leaks.left_over(before)
    assert not found, f"left behind: {found}"


@pytest.fixture
def empty_directory(tmp_path: Path) -> Iterator[Path]:
    """For an embedded server of the test's own; stopped at the end."""
    yield tmp_path / "data"
    embedded.stop(tmp_path / "data")


@pytest.fixture
def make_rig() -> Iterator[Callable[..., Rig]]:
    """Makes executors, which must be able to end after the test."""
    rigs: list[Rig] = []

    def make(threads: int = 2) -> Rig:
        rigs.append(Rig(threads))
        return rigs[-1]

    yield make
    for rig in rigs:
        assert rig.executor.close(60)
        assert not rig.table.running()
        for name in rig.names:
            registry.unregister(KIND, name)


@pytest.fixture
def rig(make_rig: Callable[[], Rig]) -> Rig:
    """An executor with two threads."""
    return make_rig()
