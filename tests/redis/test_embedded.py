"""The embedded server: one for a directory, whichever process starts it, however it died."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from io import StringIO
from pathlib import Path

import psutil
import pytest
from django.core.management import CommandError, call_command

from queueops.errors import EmbeddedFailed
from queueops.redis import embedded
from queueops.redis.client_factory import connect
from queueops.redis.embedded.server import ENVIRONMENT
from queueops.redis.redis_cli import addressed
from tests.support.waiting import wait_until


@pytest.fixture
def server(empty_directory: Path) -> embedded.Server:
    return embedded.start(empty_directory)


@pytest.fixture
def deep_directory(tmp_path: Path) -> Iterator[Path]:
    directory = tmp_path / ("very" * 20) / ("deep" * 20)
    yield directory
    embedded.stop(directory)


def test_it_answers_as_soon_as_start_returns(server: embedded.Server) -> None:
    with connect(server.url) as client:
        assert client.ping()


def test_it_is_told_to_keep_freed_memory_at_hand_unless_the_environment_says_otherwise(
    empty_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for own in ("", "glibc.malloc.tcache_count=7"):
        if own:
            monkeypatch.setenv("GLIBC_TUNABLES", own)
        else:
            monkeypatch.delenv("GLIBC_TUNABLES", raising=False)
        found = psutil.Process(embedded.start(empty_directory).pid).environ()["GLIBC_TUNABLES"]
        assert found == (own or ENVIRONMENT["GLIBC_TUNABLES"])
        embedded.stop(empty_directory)


def test_a_second_start_finds_the_first_one(server: embedded.Server) -> None:
    assert embedded.start(server.directory) == server


def test_many_starts_at_once_make_one_server(empty_directory: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        pids = {server.pid for server in pool.map(embedded.start, [empty_directory] * 8)}
    assert len(pids) == 1


def test_two_processes_that_start_it_at_once_share_it(empty_directory: Path) -> None:
    code = "import sys; from queueops.redis.embedded import start; print(start(sys.argv[1]).pid)"
    command = [sys.executable, "-c", code, str(empty_directory)]
    starters = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    answers = {starter.communicate(timeout=300)[0].strip() for starter in starters}
    assert answers == {str(embedded.status(empty_directory).pid)}


def test_it_survives_the_process_that_started_it(empty_directory: Path) -> None:
    code = "import sys, os; from queueops.redis.embedded import start; start(sys.argv[1]); os._exit(1)"
    subprocess.run([sys.executable, "-c", code, str(empty_directory)], check=False, timeout=300)
    assert embedded.status(empty_directory).answers


def test_it_is_not_a_child_of_its_starter(server: embedded.Server) -> None:
    assert server.pid not in {child.pid for child in psutil.Process().children(recursive=True)}


def test_it_keeps_its_data_over_a_stop_and_a_start(server: embedded.Server) -> None:
    with connect(server.url) as client:
        client.set("kept", "yes")
    assert embedded.stop(server.directory)
    with connect(embedded.start(server.directory).url) as client:
        assert client.get("kept") == b"yes"


def test_after_kill_9_its_stale_files_hinder_nobody(server: embedded.Server) -> None:
    with connect(server.url) as client:
        client.set("kept", "yes")
    os.kill(server.pid, signal.SIGKILL)
    wait_until(lambda: not embedded.status(server.directory).running)
    assert server.socket.exists()
    again = embedded.start(server.directory)
    assert again.pid != server.pid
    with connect(again.url) as client:
        assert client.get("kept") == b"yes"


def test_a_pid_file_that_names_another_process_harms_nobody(server: embedded.Server) -> None:
    embedded.stop(server.directory)
    (server.directory / "valkey.pid").write_text(str(os.getpid()))
    assert not embedded.status(server.directory).running
    assert not embedded.stop(server.directory)


def test_a_server_that_hangs_is_not_started_twice_and_can_be_stopped(server: embedded.Server) -> None:
    os.kill(server.pid, signal.SIGSTOP)
    with pytest.raises(EmbeddedFailed, match=f"process {server.pid} is there but does not answer"):
        embedded.start(server.directory, timeout=0.2)
    assert embedded.status(server.directory).running
    assert embedded.stop(server.directory, timeout=0.2)


def test_a_server_that_others_start_again_is_told_of_and_left_alone(
    server: embedded.Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    def start_again(pid: int, number: int) -> None:
        kill(pid, number)
        wait_until(lambda: not embedded.status(server.directory).running)
        embedded.start(server.directory)

    kill = os.kill
    monkeypatch.setattr(os, "kill", start_again)
    with pytest.raises(EmbeddedFailed, match=r"did not stay ended: .* has started it again .* End the workers"):
        embedded.stop(server.directory)
    monkeypatch.undo()
    again = embedded.status(server.directory)
    assert again.answers
    assert again.pid != server.pid


def test_a_directory_that_is_too_deep_for_a_socket_works_all_the_same(deep_directory: Path) -> None:
    server = embedded.start(deep_directory)
    assert server.answers
    assert not server.socket.is_relative_to(deep_directory)
    assert server.socket.parent.stat().st_mode & 0o077 == 0


def test_it_drops_nothing_and_writes_what_it_gets(server: embedded.Server) -> None:
    with connect(server.url) as client:
        info = client.info()
    assert (info["maxmemory_policy"], info["aof_enabled"]) == ("noeviction", 1)


def test_only_its_owner_can_reach_it(server: embedded.Server) -> None:
    assert server.socket.stat().st_mode & 0o077 == 0
    assert not [one for one in psutil.Process(server.pid).net_connections("inet") if one.status == psutil.CONN_LISTEN]


def test_its_data_is_not_committed_with_the_project_around_it(server: embedded.Server) -> None:
    ignored = server.directory / ".gitignore"
    assert ignored.read_text() == "*\n"
    ignored.write_text("mine\n")
    embedded.stop(server.directory)
    embedded.start(server.directory)
    assert ignored.read_text() == "mine\n"


def test_a_wrong_option_is_told_with_the_servers_own_words(empty_directory: Path) -> None:
    with pytest.raises(EmbeddedFailed, match="Bad directive"):
        embedded.start(empty_directory, options={"no-such-option": "1"})


def test_data_that_cannot_be_read_is_told_with_the_end_of_the_log(server: embedded.Server) -> None:
    embedded.stop(server.directory)
    (log,) = (server.directory / "appendonlydir").glob("*.incr.aof")
    log.write_bytes(b"*3\r\nno commands\r\n" * 10)
    with pytest.raises(EmbeddedFailed, match="Bad file format"):
        embedded.start(server.directory)


def test_a_directory_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(EmbeddedFailed, match="file"):
        embedded.start(tmp_path / "file" / "data")


def test_stopping_where_nothing_runs_does_nothing(empty_directory: Path) -> None:
    assert not embedded.stop(empty_directory)
    assert not empty_directory.exists()


def test_a_lost_server_is_started_again_by_the_next_connection(empty_directory: Path) -> None:
    with connect(f"embedded:{empty_directory}") as client:
        client.set("kept", "yes")
        os.kill(embedded.status(empty_directory).pid, signal.SIGKILL)
        wait_until(lambda: not embedded.status(empty_directory).running)
        client.connection_pool.disconnect()
        assert client.get("kept") == b"yes"


def ask(*arguments: str) -> str:
    out = StringIO()
    call_command("embedded", *arguments, stdout=out)
    return out.getvalue().strip()


def test_the_command_starts_shows_and_stops_it(empty_directory: Path) -> None:
    data = str(empty_directory)
    assert "answers at unix://" in ask("start", "--data", data)
    shown = json.loads(ask("status", "--data", data, "--json"))
    assert shown["answers"]
    assert shown["pid"] == embedded.status(empty_directory).pid
    assert ask("stop", "--data", data) == f"Stopped; its data stays in {data}"
    assert ask("stop", "--data", data) == f"No server runs in {data}"


def test_the_command_asks_it_as_the_remedies_of_alarms_say(server: embedded.Server) -> None:
    at = ("--data", str(server.directory))
    remedy = shlex.split(addressed("redis-cli CONFIG SET maxmemory 123456789", f"embedded:{server.directory}"))
    assert ask(*remedy[2:]) == "OK"
    assert ask(*at, "ask", "CONFIG", "GET", "maxmemory").split() == ["maxmemory", "123456789"]
    ask(*at, "ask", "CONFIG", "SET", "slowlog-log-slower-than", "0")
    assert "slowlog-log-slower-than" in ask(*at, "ask", "SLOWLOG", "GET", "10")
    assert "used_memory: " in ask(*at, "ask", "INFO", "memory")
    assert ask(*at, "ask", "LRANGE", "none", "0", "-1") == ""
    with pytest.raises(CommandError, match=r"unknown command .BOGUS"):
        ask(*at, "ask", "BOGUS")
    for wrong in (("ask",), ("status", "PING")):
        with pytest.raises(CommandError, match="ask takes a command"):
            ask(*at, *wrong)
    embedded.stop(server.directory)
    with pytest.raises(CommandError, match=r"did not answer: it does not run, see: manage.py embedded start"):
        ask(*at, "ask", "PING")


def test_the_commands_exit_status_tells_that_no_server_answers(empty_directory: Path) -> None:
    with pytest.raises(SystemExit, match="1"):
        ask("status", "--data", str(empty_directory))


def test_the_command_says_when_the_settings_name_another_server() -> None:
    with pytest.raises(CommandError, match="not embedded"):
        ask("status")


@pytest.mark.parametrize("action", ["start", "status", "stop"])
def test_a_directory_that_is_another_users_is_a_sentence(
    empty_directory: Path, monkeypatch: pytest.MonkeyPatch, action: str
) -> None:
    def refuse(path: Path, *_: object) -> int:
        raise PermissionError(13, "Permission denied", str(path))

    empty_directory.mkdir()
    (empty_directory / "server.lock").touch()
    with monkeypatch.context() as patched:
        patched.setattr(os, "open", refuse)
        with pytest.raises(CommandError, match=r"Permission denied: .*server\.lock"):
            ask(action, "--data", str(empty_directory))
