"""Idle tabs: `python -m tests.benchmarks.idle_tabs [--url URL] [PAGE ...]` measures what 50 open pages cost at rest.

A server of its own gets tasks of 50 names in 50 lanes; `--url` is a store that `large_store` has filled. Each tab has
loaded its page, then asks for the live update at the default pace of 2 s, beside the status head. A watchdog samples
each second. Printed are the shares of one core that the store and the console used, and that of the store without a
tab. A busy machine makes fewer updates: their number is printed, too.
"""

from __future__ import annotations

import argparse
import html
import os
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path
from threading import Event, Thread
from time import monotonic, sleep, thread_time

TABS, PACE_S, SECONDS = 50, 2.0, 20.0
TASKS, NAMES = 20_000, 50
PAGES = ("tasks/", "tasks/?state=pending", "", "lanes/", "workers/", "errors/", "registry/")
LIVE = re.compile(r'hx-get="([^"]+)"')


def used() -> float:
    """The processor time that the store has used so far, in seconds."""
    from queueops.redis.broker import get_broker

    cpu = get_broker().client.info("cpu")
    return float(cpu["used_cpu_user"]) + float(cpu["used_cpu_sys"])


def rest() -> None:
    """What the store uses without a tab."""
    before, began = used(), monotonic()
    sleep(SECONDS / 2)
    print(f"{'(no tab)':22}                {(used() - before) / (monotonic() - began):6.2%} of one core")


def measure(page: str) -> None:
    """What the store uses while the tabs are open."""
    from django.contrib.auth.models import User
    from django.test import Client

    client = Client()
    client.force_login(User.objects.get_or_create(username="tabs", is_superuser=True)[0])
    loaded = [LIVE.findall(client.get(f"/ops/{page}").content.decode()) for _ in range(TABS)]
    tabs = [[html.unescape(address) for address in addresses] for addresses in loaded]

    before, began, mine, asked = used(), monotonic(), thread_time(), 0
    while (now := monotonic()) - began < SECONDS:
        for address in tabs[asked % TABS]:
            assert client.get(address).status_code in (200, 204), address
        asked += 1
        sleep(max(0.0, began + asked * PACE_S / TABS - now))
    spent = monotonic() - began
    store, console = (used() - before) / spent, (thread_time() - mine) / spent
    print(
        f"{page or 'overview':22} {asked / spent:5.1f} updates/s {store:6.2%} store {console:6.2%} console", flush=True
    )


def main() -> None:
    """Start a server, or take the one at the address; measure each page."""
    from tests.benchmarks.server import running

    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.idle_tabs", description=__doc__)
    parser.add_argument("--url", help="a store that is filled")
    parser.add_argument("pages", nargs="*", default=PAGES)
    options = parser.parse_args()
    if options.url:
        run(options.url, options.pages, is_filled=True)
        return
    with tempfile.TemporaryDirectory() as folder, running("valkey", True, Path(folder)) as server:
        run(server.url, options.pages, is_filled=False)


def run(url: str, pages: Sequence[str], *, is_filled: bool) -> None:
    """Fill the store if it is empty, and measure."""
    os.environ |= {"DJANGO_SETTINGS_MODULE": "tests.settings", "QUEUEOPS_TESTS_URL": url}
    import django

    django.setup()
    from django.core.management import call_command

    from queueops.model.contracts import Push
    from queueops.redis.broker import get_broker

    call_command("migrate", verbosity=0)
    call_command("collectstatic", interactive=False, verbosity=0)
    broker, ended = get_broker(), Event()
    for start in range(0, 0 if is_filled else TASKS, 500):
        ids = range(start, start + 500)
        broker.push([Push(id=f"t{n}", name=f"app.name{n % NAMES}", lane=f"lane-{n % NAMES}") for n in ids])
    pools = broker.pools() or ("default",)

    def sample() -> None:
        while not ended.wait(1):
            for pool in pools:
                broker.draw(pool, "one", 900)

    sampler = Thread(target=sample)
    sampler.start()
    rest()
    for page in pages:
        measure(page)
    ended.set()
    sampler.join()


if __name__ == "__main__":
    main()
