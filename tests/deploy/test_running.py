"""What `deploy/` starts, on real processes: store, web server, worker, watchdog, and nginx in front with TLS."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import ssl
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import pytest
import redis

from queueops.redis.embedded.program import find_server
from tests.deploy.files import NGINX, image_command, service
from tests.faults.test_nginx import MAIN
from tests.release.smoke import TASKS, URLS
from tests.support.chromium import find_nginx
from tests.support.topology import free_ports
from tests.support.waiting import wait_until
from tests.support.webserver import ROOT

pytestmark = [pytest.mark.faults, pytest.mark.nginx, pytest.mark.timeout(300)]

WORD = "correct-horse"
SELF_SIGNED = (
    "openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=localhost -addext subjectAltName=DNS:localhost "
    "-keyout key -out cert"
)
SETTINGS = """
import os
INSTALLED_APPS += ["queueops", "console", "shop"]
DEBUG, ALLOWED_HOSTS, STATIC_ROOT = False, ["localhost"], BASE_DIR / "static"
TEMPLATES[0]["DIRS"], STATICFILES_DIRS = [os.environ["ROOT"] + "/templates"], [os.environ["ROOT"] + "/static"]
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
CSRF_COOKIE_SECURE = SESSION_COOKIE_SECURE = True
EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
QUEUEOPS = {"POOLS": {"default": {}}}
"""
HOLD = """

@task
def hold(go: str) -> str:
    import pathlib, time
    pathlib.Path(go + ".begun").touch()
    while not pathlib.Path(go).exists():
        time.sleep(0.01)
    return "ended in peace"
"""
PUSH = "import django, sys; django.setup(); from shop.tasks import hold; print(hold.push(sys.argv[1]).id)"
STATE = "import django, sys; django.setup(); import queueops; print(queueops.get(sys.argv[1]).result(timeout=0))"


class Site:
    """A project as of docs/start.md, whose processes are those of the files."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.store, self.web, self.tls = free_ports(3)
        url = service("web")["environment"]["QUEUEOPS_URL"].replace("store:6379", f"127.0.0.1:{self.store}")
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
        self.env = kept | {
            "DJANGO_SETTINGS_MODULE": "config.settings", "PYTHONPATH": f"{ROOT}{os.pathsep}{home}", "ROOT": str(ROOT),
            "QUEUEOPS_URL": self.filled(url), "SSL_CERT_FILE": str(home / "cert"),
        }  # fmt: skip
        subprocess.run([sys.executable, "-m", "django", "startproject", "config", "."], cwd=home, check=True)
        with (home / "config" / "settings.py").open("a") as settings:
            settings.write(SETTINGS)
        (home / "config" / "urls.py").write_text(URLS)
        (home / "shop").mkdir()
        (home / "shop" / "__init__.py").touch()
        (home / "shop" / "tasks.py").write_text(TASKS + HOLD)
        subprocess.run(SELF_SIGNED.split(), cwd=home, check=True, capture_output=True)

    def filled(self, text: str) -> str:
        """A text of the compose file with the ports and the variables of this site."""
        values = {"VALKEY_PASSWORD": WORD, "HOST": "localhost"}
        text = re.sub(r"\$\{(\w+):\?[^}]*\}", lambda found: values[found[1]], text)
        return text.replace("0.0.0.0:8000", f"127.0.0.1:{self.web}").replace("127.0.0.1:8000", f"127.0.0.1:{self.web}")

    def command(self, words: Sequence[str]) -> list[str]:
        program = {"python": [sys.executable], "gunicorn": [sys.executable, "-m", "gunicorn"]}
        return [*program.get(words[0], [words[0]]), *map(self.filled, words[1:])]

    def run(self, *words: str) -> str:
        done = subprocess.run(
            self.command(words), cwd=self.home, env=self.env, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout.strip()

    @contextmanager
    def running(self, name: str, words: Sequence[str]) -> Iterator[subprocess.Popen[bytes]]:
        with (self.home / f"{name}.log").open("wb") as log:
            process = subprocess.Popen(self.command(words), cwd=self.home, env=self.env, stdout=log, stderr=log)
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()
            process.wait(60)

    def log(self, name: str) -> str:
        return (self.home / f"{name}.log").read_text()

    def ask(self, path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None) -> tuple[int, str]:
        """One request by nginx: status, and the header Expires."""
        trusted = ssl.create_default_context(cafile=str(self.home / "cert"))
        connection = http.client.HTTPSConnection("localhost", self.tls, context=trusted, timeout=60)
        with closing(connection):
            connection.request("POST" if body else "GET", path, body, dict(headers or {}))
            answer = connection.getresponse()
            return answer.status, answer.headers.get("Expires", "")

    def doctor(self) -> dict[str, tuple[str, str, str]]:
        """The worst finding of each check: level, what was seen, remedy."""
        url = f"https://localhost:{self.tls}/ops/"
        words = ["python", "manage.py", "queueops", "doctor", "--json", "--url", url]
        done = subprocess.run(
            self.command(words), cwd=self.home, env=self.env, capture_output=True, text=True, check=False
        )
        found = json.loads(done.stdout or done.stderr)["findings"]
        found.sort(key=lambda each: ("ok", "warn", "fail").index(each["level"]))
        return {each["check"]: (each["level"], each["seen"], each["remedy"]) for each in found}

    def complaints(self) -> set[str]:
        """The checks that are not well; the settings are a test's."""
        return {check for check, (level, *_) in self.doctor().items() if level != "ok"} - {"settings"}

    @contextmanager
    def proxied(self, *without: str, more: str = "") -> Iterator[None]:
        """nginx with the file, perhaps without some lines, and with more in its second server."""
        (plain,) = free_ports(1)
        text = self.filled(NGINX)
        for documented, own in (
            ("listen 80;", f"listen 127.0.0.1:{plain};"),
            ("listen 443 ssl;", f"listen 127.0.0.1:{self.tls} ssl; {more}"),
            ("/etc/ssl/ops.example.org.pem", str(self.home / "cert")),
            ("/etc/ssl/ops.example.org.key", str(self.home / "key")),
            ("/srv/shop/static/", f"{self.home}/static/"),
            *((line, "") for line in without),
        ):
            assert text.count(documented) == 1, documented
            text = text.replace(documented, own)
        user = "user root;" if os.geteuid() == 0 else ""
        (self.home / "nginx.conf").write_text(MAIN.format(user=user, server=text).replace("access_log", MIME, 1))
        options = ["-p", str(self.home), "-c", str(self.home / "nginx.conf"), "-e", "stderr"]
        program = find_nginx() or "nginx"
        subprocess.run([program, *options, "-t"], check=True, capture_output=True)
        with self.running("nginx", [program, *options, "-g", "daemon off;"]) as process:
            wait_until(self._answers, say=lambda: self.log("nginx"))
            yield
            process.send_signal(signal.SIGTERM)
            process.wait(60)

    def _answers(self) -> bool:
        try:
            return self.ask("/ops/healthz")[0] > 0
        except OSError:
            return False


MIME = "types { text/css css; text/javascript js; } access_log"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The store of the compose file, and a migrated database."""
    site = Site(tmp_path_factory.mktemp("site"))
    words = service("store")["command"]
    store = [find_server(site.home), *words[1:], "--port", str(site.store), "--dir", str(site.home)]
    with site.running("store", store):
        client = redis.Redis(port=site.store, password=WORD)
        wait_until(lambda: _answers(client), say=lambda: site.log("store"))
        client.close()
        site.run(*service("migrate")["command"])
        site.run("python", "manage.py", "collectstatic", "--noinput")
        yield site


def _answers(client: redis.Redis) -> bool:
    try:
        return bool(client.ping())
    except redis.ConnectionError:
        return False


def test_the_console_works_behind_nginx_and_the_doctor_says_so_or_what_is_missing(site: Site) -> None:
    with ExitStack() as started:
        web = started.enter_context(site.running("web", image_command()))
        for name in ("worker", "watchdog"):
            started.enter_context(site.running(name, service(name)["command"]))
        with site.proxied():
            wait_until(lambda: site.ask("/ops/readyz")[0] == 200, say=lambda: site.log("web"))
            site.run(*service("web")["healthcheck"]["test"][1:])
            status, expires = site.ask("/static/console/built/console.js")
            assert (status, bool(expires)) == (200, True)
            assert site.ask("/ops/login/", b"x" * 2_000_000)[0] == 403  # it has no token; gunicorn has read all of it
            assert site.ask("/ops/login/", b"x" * 4_000_000)[0] == 413
            wait_until(lambda: site.complaints() == {"alerts"}, say=site.doctor, every=0.5)
        with site.proxied("proxy_set_header X-Forwarded-Proto $scheme;"):
            level, seen, remedy = site.doctor()["proxies"]
            assert (level, "SECURE_PROXY_SSL_HEADER" in remedy) == ("fail", True), seen
            assert "another origin" in seen
        with site.proxied("proxy_set_header Host $http_host;"):
            level, seen, remedy = site.doctor()["proxies"]
            assert (level, "ALLOWED_HOSTS" in remedy) == ("fail", True), seen
        with site.proxied(more="location = /ops/healthz { return 301 https://$http_host$request_uri; }"):
            assert "is redirected to https://localhost" in site.doctor()["proxies"][1]
        with site.proxied(f"alias {site.home}/static/;"):
            assert "static" in site.doctor()["proxies"][1]
        web.send_signal(signal.SIGTERM)
        assert web.wait(60) == 0


def test_a_worker_and_a_watchdog_that_are_stopped_end_in_order_and_the_running_task_too(site: Site) -> None:
    go = site.home / "go"
    with (
        site.running("worker", service("worker")["command"]) as worker,
        site.running("watchdog", service("watchdog")["command"]) as watchdog,
    ):
        id = site.run("python", "-c", PUSH, str(go))
        wait_until(Path(f"{go}.begun").exists, say=lambda: site.log("worker"))
        worker.send_signal(signal.SIGTERM)
        wait_until(lambda: "Stopping: tasks may end" in site.log("worker"), say=lambda: site.log("worker"))
        go.touch()
        assert worker.wait(60) == 0, site.log("worker")
        assert site.run("python", "-c", STATE, id) == "ended in peace"
        watchdog.send_signal(signal.SIGTERM)
        assert watchdog.wait(60) == 0, site.log("watchdog")
