"""Package metadata that depend on the public repository: project links, and the links of the README.

The repository is the git remote `origin`, if that is a public address. Without one, the links become plain text:
on a package index a relative link leads nowhere.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

LINK = re.compile(r"(?P<picture>!?)\[(?P<text>[^\]]*)\]\((?P<target>[^):#\s]+)\)")
SSH = re.compile(r"(?:ssh://)?git@(?P<host>[\w.-]+)(?::\d+/|[:/])(?P<path>[\w./-]+)")
WEB = re.compile(r"https?://(?:[^@/]*@)?(?P<host>[\w.:-]+)/(?P<path>[\w./-]+)")


class LinksHook(MetadataHookInterface):
    """Fills `readme` and `urls` of the project table."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Called by hatchling for a wheel, a source distribution and an editable install."""
        root = Path(self.root)
        repository = public_address(remote(root))
        text = LINK.sub(lambda link: absolute(link, repository), (root / "README.md").read_text())
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
        if repository:
            metadata["urls"] = {
                "Documentation": f"{repository}/blob/HEAD/docs/index.md",
                "Changelog": f"{repository}/blob/HEAD/CHANGELOG.md",
                "Issues": f"{repository}/issues",
                "Source": repository,
            }


def absolute(link: re.Match[str], repository: str) -> str:
    """The link with an absolute address; its text alone, or nothing for a picture, where there is no repository."""
    picture, text, target = link["picture"], link["text"], link["target"]
    if not repository:
        return "" if picture else text
    return f"{picture}[{text}]({repository}/{'raw' if picture else 'blob'}/HEAD/{target})"


def public_address(remote: str) -> str:
    """The web address of a git remote, without credentials; empty for a remote that is a folder."""
    found = WEB.fullmatch(remote) or SSH.fullmatch(remote)
    return f"https://{found['host']}/{found['path'].removesuffix('.git').strip('/')}" if found else ""


def remote(root: Path) -> str:
    """The git remote `origin` of the repository whose top folder is `root`; empty if there is none."""
    if _git(root, "rev-parse", "--show-toplevel") != str(root.resolve()):
        return ""
    return _git(root, "config", "--get", "remote.origin.url")


def _git(root: Path, *command: str) -> str:
    try:
        done = subprocess.run(["git", "-C", str(root), *command], capture_output=True, text=True, check=False)  # noqa: S603, S607
    except OSError:  # git is not installed
        return ""
    return done.stdout.strip()
