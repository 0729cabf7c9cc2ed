"""The files of `deploy/`, read as the programs read them that use them."""

from __future__ import annotations

import configparser
import json
import os
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.webserver import ROOT

DEPLOY = ROOT / "deploy"
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))
NGINX = (DEPLOY / "nginx/queueops.conf").read_text()


def compose() -> dict[str, Any]:
    """The compose file; anchors are resolved."""
    found = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    return {name: part for name, part in found.items() if not name.startswith("x-")}


def service(name: str) -> dict[str, Any]:
    """One service of the compose file."""
    found: dict[str, Any] = compose()["services"][name]
    return found


def image_command() -> list[str]:
    """The CMD of the image."""
    (line,) = re.findall(r"^CMD (\[.+\])$", (DEPLOY / "Dockerfile").read_text(), re.MULTILINE)
    found: list[str] = json.loads(line)
    return found


def unit(path: Path) -> dict[str, str]:
    """The section [Service] of a unit."""
    parser = configparser.ConfigParser(interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string(path.read_text())
    return dict(parser["Service"])


def tool(name: str) -> str:
    """The path of a program, also of this environment; without it the test is skipped, never in CI."""
    found = shutil.which(name, path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    if not found and not os.environ.get("CI"):
        pytest.skip(f"there is no {name} here: pip install '.[deploy]'")
    assert found, f"there is no {name}"
    return found
