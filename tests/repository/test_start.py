"""The page `docs/start.md`, followed in an empty folder, with the wheel and its hard dependencies alone.

Its project then runs the programs of `docs/programs.md`.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.repository.examples import DOCS, SAID, examples
from tests.repository.test_dependencies import Bare
from tests.support.waiting import wait_until
from tests.support.wheels import build

BLOCK = re.compile(r"^```(?P<language>sh|python)\n(?P<text>.*?)^```", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"# (?P<path>[\w/]+\.py)(?P<end>, at its end)?\n")
REFUSED = re.compile(r"^(?P<call>.+?)  # raises (?P<error>\w+): (?P<text>.+)$", re.MULTILINE)
ENDLESS = ("runworker", "watchdog", "runserver")
USER = {"USERNAME": "ada", "PASSWORD": "correct horse", "EMAIL": "ada@example.com"}
OTHERS = ("mkdir", "python3 -m venv", "pip install", "python manage.py embedded stop")


class Reader(Bare):
    """Does what the page says, in the folder of the project."""

    def __init__(self, home: Path, wheel: Path, redis_url: str, namespace: str) -> None:
        super().__init__(home, wheel)
        self.folder = home / "shop"
        self.folder.mkdir()
        self.session = ""
        settings = {"DJANGO_SETTINGS_MODULE": "config.settings", "PYTHONPATH": str(self.folder)}
        store = {"QUEUEOPS_URL": redis_url, "QUEUEOPS_ENV": namespace}
        user = {
            "DJANGO_SUPERUSER_USERNAME": "ada",
            "DJANGO_SUPERUSER_PASSWORD": "x",
            "DJANGO_SUPERUSER_EMAIL": "a@b.fr",
        }
        self.known = self.environment(**settings, **store, **user)

    def follow(self, language: str, text: str) -> None:
        if language == "sh":
            for line in text.splitlines():
                self.type(line)
        elif place := FILE.match(text):
            path = self.folder / place["path"]
            path.write_text((path.read_text() if place["end"] else "") + text)
        else:
            self.session += text

    def type(self, line: str) -> None:
        if line.startswith(OTHERS) or line.endswith(ENDLESS):
            return
        words = line.replace("createsuperuser", "createsuperuser --noinput").split()
        command = ["-m", "django", *words[1:]] if words[0] == "django-admin" else words[1:]
        done = self.start(*command)
        assert done.wait(300) in ((0, 1) if line.endswith("queue status") else (0,)), line  # 1: there is an alarm

    def start(self, *command: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen([str(self.python), *command], cwd=self.folder, env=self.known)


@pytest.fixture
def reader(tmp_path: Path, redis_url: str, namespace: str) -> Reader:
    return Reader(tmp_path, build(), redis_url, namespace)


@pytest.mark.timeout(900)
def test_a_reader_who_follows_the_page_gets_what_it_says(reader: Reader) -> None:
    blocks = BLOCK.findall((DOCS / "start.md").read_text())
    looks = next(block for block in blocks if "queue status" in block[1])  # once the task has failed
    for language, text in blocks:
        if text != looks[1]:
            reader.follow(language, text)
    session = asserted(reader.session)
    session = REFUSED.sub(r"try:\n    \g<call>\nexcept Exception as error:\n    print(repr(error))", session)
    assert session.count("assert ") == 3
    programs = programs_in(reader)
    assert programs.count("assert ") == 8
    worker = reader.start("manage.py", "runworker")
    try:
        said = run_shell(reader, session + "print(handle.id)")
        ((_, error, text),) = REFUSED.findall(reader.session)
        assert error in said
        assert text in said
        show = ["manage.py", "queue", "show", said.split()[-1], "--json"]
        run_shell(reader, programs)
        wait_until(lambda: '"failed"' in output(reader, *show), 120, every=1)
    finally:
        worker.terminate()
        worker.wait(120)
    reader.follow(*looks)


def asserted(session: str) -> str:
    """A session that fails at a line which does not give what stands behind its arrow."""
    return SAID.sub(r"assert (\g<code>) == \g<value>, '\g<code>'", session.replace("timeout=5", "timeout=120"))


def programs_in(reader: Reader) -> str:
    """The session of `docs/programs.md`, whose tasks are now those of the project."""
    text = "".join(examples("programs.md"))
    path = reader.folder / "shop" / "tasks.py"
    path.write_text(path.read_text() + SAID.sub("", text))
    return "from shop.tasks import *\n" + asserted("\n".join(said.group() for said in SAID.finditer(text)))


def run_shell(reader: Reader, text: str) -> str:
    return output(reader, "manage.py", "shell", "-c", text)


def output(reader: Reader, *command: str) -> str:
    done = subprocess.run(
        [str(reader.python), *command], cwd=reader.folder, env=reader.known,
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
