"""Parent-death signal: runs a command that ends when its parent process ends, also by SIGKILL.

    python -m queueops_demo.run_with_parent PARENT_PID COMMAND ...

Linux sends SIGTERM to the command when the parent ends. On other systems the command outlives a killed parent.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main(command: list[str], parent: int) -> None:
    """Replace this process by the command."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
        if os.getppid() != parent:  # the parent ended before prctl took effect
            sys.exit(1)
    os.execv(command[0], command)  # noqa: S606 - the demo's own command line


if __name__ == "__main__":
    main(sys.argv[2:], int(sys.argv[1]))
