"""Idle tabs: `python -m tests.benchmarks.idle_tabs [PAGE ...]` measures what 50 open pages cost the store at rest.

A server of its own gets tasks of 50 names in 50 lanes. Each tab has loaded its page, then asks for the live update at
the default pace of 2 s, beside the status head. A watchdog samples each second. Printed is the share of one core that
the store used, and the same without a tab.
"""

from __future__ import annotations

import html
import os
import re
import sys
import tempfile
from pathlib import Path
from threading import Event, Thread
from time import monotonic, sleep

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

    before, began, asked = used(), monotonic(), 0
    while (now := monotonic()) - began < SECONDS:
        for address in tabs[asked % TABS]:
            assert client.get(address).status_code in (200, 204), address
        asked += 1
        sleep(max(0.0, began + asked * PACE_S / TABS - now))
    spent = monotonic() - began
    print(f"{page or 'overview':22} {asked / spent:5.1f} updates/s {(used() - before) / spent:6.2%} of one core")


def main() -> None:
    """Start a server, fill it, measure each page."""
    from tests.benchmarks.server import running

    with tempfile.TemporaryDirectory() as folder, running("valkey", True, Path(folder)) as server:
        os.environ |= {"DJANGO_SETTINGS_MODULE": "tests.settings", "QUEUEOPS_TESTS_URL": server.url}
        import django

        django.setup()
        from django.core.management import call_command

        from queueops.model.contracts import Push
        from queueops.redis.broker import get_broker

        call_command("migrate", verbosity=0)
        call_command("collectstatic", interactive=False, verbosity=0)
        broker = get_broker()
        for start in range(0, TASKS, 500):
            ids = range(start, start + 500)
            broker.push([Push(id=f"t{n}", name=f"app.name{n % NAMES}", lane=f"lane-{n % NAMES}") for n in ids])
        ended = Event()
        sampler = Thread(target=lambda: [broker.draw("default", "one", 900) for _ in iter(lambda: ended.wait(1), True)])
        sampler.start()
        rest()
        for page in sys.argv[1:] or PAGES:
            measure(page)
        ended.set()
        sampler.join()


if __name__ == "__main__":
    main()
