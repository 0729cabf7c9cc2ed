"""The command: a diff without --write, files in place with it, a report, and exit codes; it needs no settings."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from queueops.migrate.command import main

ROOT = Path(__file__).parents[2]
PLAIN = 'from celery import shared_task\n\n\n@shared_task\ndef add(a, b):\n    return "\u00e9"\n'


def project(folder: Path, **files: str) -> Path:
    package = folder / "shop"
    package.mkdir()
    (package / "__init__.py").touch()
    for name, text in files.items():
        (package / f"{name}.py").write_text(text)
    return package


def test_without_write_a_diff_is_printed_and_no_file_changes(tmp_path, capsys):
    package = project(tmp_path, tasks=PLAIN, views="from shop.tasks import add\nadd.delay(1, b=2)\n")
    assert main(["celery", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert "-@shared_task\n+@task(retries=0)\n" in said
    assert "-add.delay(1, b=2)\n+add.push(1, b=2)\n" in said
    assert said.endswith("1 tasks rewritten, 2 files to change, 0 forms left to do by hand, 0 to check\n")
    assert (package / "tasks.py").read_text() == PLAIN


def test_with_write_files_change_once_and_keep_their_encoding_and_line_ends(tmp_path, capsys):
    package = project(tmp_path)
    latin = b"# -*- coding: latin-1 -*-\r\n" + PLAIN.replace("\n", "\r\n").encode("latin-1")
    (package / "tasks.py").write_bytes(latin)
    assert main(["celery", str(tmp_path), "--write"]) == 0
    changed = (package / "tasks.py").read_bytes()
    expected = PLAIN.replace("from celery import shared_task", "from queueops import task")
    expected = expected.replace("@shared_task", "@task(retries=0)").replace("\n", "\r\n")
    assert changed == b"# -*- coding: latin-1 -*-\r\n" + expected.encode("latin-1")
    capsys.readouterr()
    assert main(["celery", str(tmp_path), "--write"]) == 0
    assert "0 files changed" in capsys.readouterr().out
    assert (package / "tasks.py").read_bytes() == changed


def test_forms_that_stay_are_listed_with_their_place_and_the_exit_code_is_1(tmp_path, capsys):
    package = project(tmp_path, tasks=PLAIN, views="from .tasks import add\n\nadd.apply_async((1,), shadow2=3)\n")
    assert main(["celery", str(tmp_path)]) == 1
    told = (
        f"{package / 'views.py'}:3: left: add.apply_async((1,), shadow2=3): shadow2= has no counterpart in using(...)"
    )
    assert told in capsys.readouterr().out


def test_files_that_cannot_be_read_are_named_and_skipped_and_the_exit_code_is_3(tmp_path, capsys):
    package = project(tmp_path, tasks=PLAIN, broken="from celery import (\n")
    (package / "odd.py").write_bytes(b"# coding: klingon\nimport celery\n")
    (package / "binary.py").write_bytes(b"import celery\n\xff\xfe\n")
    assert main(["celery", str(tmp_path), "--write"]) == 3
    errors = capsys.readouterr().err
    assert f"{package / 'broken.py'}: skipped: not valid Python" in errors
    assert f"{package / 'odd.py'}: skipped: " in errors
    assert f"{package / 'binary.py'}: skipped: " in errors
    assert "@task(retries=0)" in (package / "tasks.py").read_text()


def test_a_task_outside_of_tasks_py_is_named_for_the_setting(tmp_path, capsys):
    package = project(tmp_path, models="", bulk_edit=PLAIN)
    assert main(["celery", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert f"{package / 'bulk_edit.py'}:4: check: tasks in bulk_edit.py: workers import tasks.py of each app;" in said
    assert 'add "bulk_edit" to QUEUEOPS["TASK_MODULES"]' in said


def test_the_command_needs_no_settings_of_django_and_says_what_is_missing(tmp_path):
    project(tmp_path, tasks=PLAIN)
    environment = {name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"}

    def ran(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, *arguments]
        return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)

    good = ran("-m", "queueops.migrate", "celery", str(tmp_path))
    assert (good.returncode, good.stderr) == (0, "")
    wrong = ran("-m", "queueops.migrate", "celery", str(tmp_path / "none"))
    assert (wrong.returncode, wrong.stderr) == (
        2,
        f"There is no {tmp_path / 'none'}. Give folders or files of Python.\n",
    )
    without = "import sys; sys.modules['libcst'] = None; from queueops.migrate.command import main; "
    missing = ran("-c", without + f"print('django' in sys.modules); sys.exit(main(['celery', {str(tmp_path)!r}]))")
    assert (missing.returncode, missing.stdout) == (2, "False\n")
    assert missing.stderr == "The migration needs libcst. Run: pip install 'queueops[migrate]'\n"
