"""Commands that are a process of their own: the garbage collector skips what is loaded before they run."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.management import call_command

ROOT = Path(__file__).resolve().parents[2]
CODE = """\
import gc, sys
from django.core.management import execute_from_command_line

try:
    execute_from_command_line(sys.argv)
finally:
    print("frozen:", gc.get_freeze_count() > 10_000)
"""
SIGNAL = "os.kill(os.getpid(), signal.SIGUSR1)\n    print("
COMMANDS = ("runworker --burst", "watchdog --once", "queue list", "queueops queue list")


def run(code: str, command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, *command.split()],
        cwd=ROOT, env=os.environ | environment, capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_a_signal_for_stacks_does_not_end_a_process_that_has_no_handler_for_it(namespace: str) -> None:
    ran = run(CODE.replace("import gc,", "import gc, os, signal,").replace("print(", SIGNAL), "watchdog --once")
    assert ran.returncode == 0, ran.stderr
    assert "most recent call first" in ran.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_a_process_of_a_command_collects_no_start_up_objects(namespace: str, command: str) -> None:
    ran = run(CODE, command)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines()[-1] == "frozen: True"


def test_a_command_that_code_calls_freezes_no_objects_of_the_caller(namespace: str) -> None:
    before = gc.get_freeze_count()
    call_command("queue", "list")
    assert gc.get_freeze_count() == before


def test_an_operator_sees_the_queue_while_the_urls_of_the_project_are_broken(namespace: str, tmp_path: Path) -> None:
    broken = 'from tests.settings import *\nROOT_URLCONF = "urls_that_are_missing"\n'
    (tmp_path / "broken_project.py").write_text(broken)
    own = {"PYTHONPATH": f"{tmp_path}:{ROOT}", "DJANGO_SETTINGS_MODULE": "broken_project"}
    assert "urls_that_are_missing" in run(CODE, "check", **own).stderr
    ran = run(CODE, "queue list", **own)
    assert ran.returncode == 0, ran.stderr
