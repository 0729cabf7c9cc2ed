"""Runs a command that ends when its parent is gone, however that died: `python -m console.demo.leash COMMAND ...`.

Linux sends a SIGTERM at the parent's death. Elsewhere the command merely runs; it outlives a parent that was killed.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main(command: list[str], parent: int) -> None:
    """Become the command."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
        if os.getppid() != parent:  # it died before we asked to be told
            sys.exit(1)
    os.execv(command[0], command)  # noqa: S606 - the demo's own command line


if __name__ == "__main__":
    main(sys.argv[2:], int(sys.argv[1]))
