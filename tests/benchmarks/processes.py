"""Programs that are started for a measurement, what they cost, and their end."""

import os
import signal
import subprocess
from pathlib import Path
from time import monotonic, sleep

TERM_SECONDS = 3
TICKS = os.sysconf("SC_CLK_TCK")


class Programs:
    """One or more programs, each in a session of its own so that all of its children can be ended with it."""

    def __init__(self, commands: list[list[str]], environment: dict[str, str], folder: Path) -> None:
        self._log = folder / "workers.log"
        with self._log.open("ab") as log:
            self._started = [
                subprocess.Popen(command, env=environment, cwd=folder, stdout=log, stderr=log, start_new_session=True)
                for command in commands
            ]

    @property
    def first(self) -> int:
        """The process id of the first program."""
        return self._started[0].pid

    def alive(self) -> bool:
        """Whether all of them still run."""
        return all(process.poll() is None for process in self._started)

    def output(self) -> str:
        """All that they wrote so far."""
        return self._log.read_text(errors="replace")

    def tree(self) -> list[int]:
        """The ids of all processes, children included."""
        found = [process.pid for process in self._started]
        for pid in found:
            found.extend(_children(pid))
        return found

    def cpu_seconds(self) -> float:
        """Processor time used so far by all that live."""
        return sum(_cpu_ticks(pid) for pid in self.tree()) / TICKS

    def memory(self) -> list[int]:
        """Proportional set size of each process, in bytes."""
        return [_pss(pid) for pid in self.tree()]

    def stop(self, seconds: float) -> None:
        """SIGTERM to each program, not to its children; subprocess.TimeoutExpired if one is there after `seconds`."""
        for process in self._started:
            process.terminate()
        for process in self._started:
            process.wait(seconds)

    def end(self) -> None:
        """SIGTERM, and SIGKILL for what is left after three seconds."""
        self._signal(signal.SIGTERM)
        deadline = monotonic() + TERM_SECONDS
        while monotonic() < deadline and any(process.poll() is None for process in self._started):
            sleep(0.02)
        self._signal(signal.SIGKILL)
        for process in self._started:
            process.wait()

    def _signal(self, number: int) -> None:
        for process in self._started:
            try:
                os.killpg(process.pid, number)
            except ProcessLookupError:
                continue


def _children(pid: int) -> list[int]:
    try:
        threads = list(Path(f"/proc/{pid}/task").iterdir())
        return [int(word) for thread in threads for word in (thread / "children").read_text().split()]
    except (FileNotFoundError, ProcessLookupError):  # ended meanwhile
        return []


def _cpu_ticks(pid: int) -> int:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return int(fields[11]) + int(fields[12])


def _pss(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:")), 0)
