"""The files of `deploy/` are right for the programs that read them, and agree with each other."""

from __future__ import annotations

import os
import re
import subprocess
from importlib import import_module
from pathlib import Path

import pytest
import yaml

from queueops.conf import Settings
from tests.deploy.files import DEPLOY, NGINX, UNITS, compose, image_command, service, tool, unit
from tests.support.webserver import ROOT

OURS = ("web", "worker", "watchdog")


def test_a_program_that_stops_has_ten_seconds_more_than_running_tasks() -> None:
    wanted = Settings().grace + 10
    found = {path.name: unit(path)["TimeoutStopSec"] for path in UNITS}
    found |= {name: service(name)["stop_grace_period"].removesuffix("s") for name in OURS}
    told = re.findall(
        r"(?:TimeoutStopSec=|_grace_period: |PeriodSeconds: )(\d+)", (ROOT / "docs/production.md").read_text()
    )
    found |= {f"docs {number}": seconds for number, seconds in enumerate(told)}
    assert {name: int(seconds) for name, seconds in found.items()} == dict.fromkeys(found, wanted)


def test_units_and_containers_run_the_same_commands() -> None:
    told = {path.stem.removeprefix("queueops-"): unit(path)["ExecStart"].split() for path in UNITS}
    wanted = {name: service(name)["command"] for name in ("worker", "watchdog")}
    wanted["web"] = [word.replace("0.0.0.0", "127.0.0.1") for word in image_command()]
    assert {name: [Path(words[0]).name, *words[1:]] for name, words in told.items()} == wanted


def test_systemd_accepts_the_units(tmp_path: Path) -> None:
    tool("systemd-analyze")
    bin = tmp_path / "srv/.venv/bin"
    bin.mkdir(parents=True)
    for name in ("python", "gunicorn"):
        (bin / name).symlink_to(os.path.realpath("/bin/true"))
    for path in UNITS:
        (tmp_path / path.name).write_text(path.read_text().replace("/srv/shop", str(tmp_path / "srv")))
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *(tmp_path / path.name for path in UNITS)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")


def test_hadolint_accepts_the_dockerfile() -> None:
    done = subprocess.run([tool("hadolint"), DEPLOY / "Dockerfile"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_the_compose_file_keeps_the_specification() -> None:
    spec = import_module("compose_spec") if os.environ.get("CI") else pytest.importorskip("compose_spec")
    parsed = spec.PyCompose.from_yaml(yaml.safe_dump(compose()))
    parsed.validate()
    assert set(OURS) < set(compose()["services"])
    for name in OURS:
        assert (service(name)["read_only"], service(name)["cap_drop"]) == (True, ["ALL"])


def test_nginx_has_all_that_the_docs_explain() -> None:
    (documented,) = re.findall(r"^```nginx\n(.+?)^```", (ROOT / "docs/production.md").read_text(), re.M | re.S)
    assert {line.strip() for line in documented.splitlines()} <= {line.strip() for line in NGINX.splitlines()}
