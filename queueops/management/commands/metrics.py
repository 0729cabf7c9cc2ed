"""``manage.py metrics``: serve the metrics for Prometheus on a port of their own."""

from __future__ import annotations

import ipaddress
import signal
from collections.abc import Callable, Iterable
from http import HTTPStatus
from importlib.util import find_spec
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, make_server

from django.core.management.base import CommandError, CommandParser

from queueops import conf
from queueops.management.process_command import ProcessCommand

MISSING = "manage.py metrics needs the package prometheus-client: pip install 'queueops[metrics]'"
OPEN_TO_ALL = (
    "Other machines reach {host}. Set QUEUEOPS['METRICS_TOKEN'], which they must send, or listen on 127.0.0.1."
)
READ_S = 10.0
"""Seconds that a client may take for its request."""


class Handler(WSGIRequestHandler):
    """Serves one request; a scrape is no line of the log."""

    timeout = READ_S

    def log_message(self, *_: Any) -> None:
        """Write nothing."""


class Command(ProcessCommand):
    """Serve the metrics until SIGTERM or SIGINT."""

    requires_system_checks = ["queueops"]
    help = "Serve the metrics of all pools for Prometheus."

    def add_arguments(self, parser: CommandParser) -> None:
        """Where to listen."""
        parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: 127.0.0.1)")
        parser.add_argument("--port", type=int, default=9464, help="port to listen on; 0: any free one (default: 9464)")

    def handle(self, *args: Any, **options: Any) -> None:
        """Serve until a signal. Raises CommandError without the package, without a token, and for a port in use."""
        if find_spec("prometheus_client") is None:
            raise CommandError(MISSING)
        from prometheus_client.exposition import ThreadingWSGIServer

        if not conf.current().metrics_token and not _is_local(options["host"]):
            raise CommandError(OPEN_TO_ALL.format(host=options["host"]))
        try:
            server = make_server(options["host"], options["port"], serve, ThreadingWSGIServer, Handler)
        except (OSError, OverflowError) as error:
            raise CommandError(f"Cannot listen on {options['host']}:{options['port']}: {error}") from error
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, _stop)
        self.stdout.write(f"Metrics at http://{options['host']}:{server.server_port}/metrics")
        self.stdout.flush()
        with server:
            try:
                server.serve_forever()
            except KeyboardInterrupt:
                return


def serve(environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
    """The WSGI application: the metrics at /metrics."""
    from queueops.metrics.exposition import TEXT, Exposition, expose

    if environ["PATH_INFO"] != "/metrics":
        found = Exposition(404, TEXT, b"The metrics are at /metrics.\n")
    elif environ["REQUEST_METHOD"] not in ("GET", "HEAD"):
        found = Exposition(405, TEXT, b"Use GET.\n")
    else:
        accept, authorization = environ.get("HTTP_ACCEPT", ""), environ.get("HTTP_AUTHORIZATION", "")
        found = expose(accept, authorization, open_to_all=True)
    start(
        f"{found.status} {HTTPStatus(found.status).phrase}",
        [("Content-Type", found.media_type), ("Content-Length", str(len(found.body)))],
    )
    return [found.body if environ["REQUEST_METHOD"] != "HEAD" else b""]


def _is_local(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _stop(*_: Any) -> None:
    raise KeyboardInterrupt
