"""What a package index shows: links that work there, or none."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support.wheels import ROOT, run

LINK = re.compile(r"\]\(([^)]+)\)")
FILES = ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE", "CHANGELOG.md")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A clone of the repository, as far as its metadata are made of it."""
    for name in FILES:
        shutil.copy(ROOT / name, tmp_path)
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    git(tmp_path, "init", "--quiet")
    return tmp_path


def git(tree: Path, *command: str) -> None:
    subprocess.run(["git", "-C", str(tree), *command], check=True, timeout=60)


def metadata(tree: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run(["-m", "hatchling", "metadata"], tree))
    return found


def description(found: dict[str, Any]) -> str:
    return str(found["readme"]["text"])


@pytest.mark.parametrize(
    "remote",
    [
        "https://forge.test/team/queueops.git",
        "https://ada:secret@forge.test/team/queueops",
        "git@forge.test:team/queueops.git",
        "ssh://git@forge.test/team/queueops.git",
    ],
)
def test_every_link_leads_to_the_repository_that_the_clone_comes_from(tree: Path, remote: str) -> None:
    git(tree, "remote", "add", "origin", remote)
    found = metadata(tree)
    repository = "https://forge.test/team/queueops"
    assert found["urls"] == {
        "Documentation": f"{repository}/blob/HEAD/docs/index.md",
        "Changelog": f"{repository}/blob/HEAD/CHANGELOG.md",
        "Issues": f"{repository}/issues",
        "Source": repository,
    }
    text = description(found)
    assert f"]({repository}/raw/HEAD/docs/console.png)" in text
    assert f"[docs/tasks.md]({repository}/blob/HEAD/docs/tasks.md)" in text
    assert [link for link in LINK.findall(text) if not link.startswith(f"{repository}/")] == []


@pytest.mark.parametrize("remote", ["", "/srv/git/queueops", "file:///srv/git/queueops"])
def test_without_a_public_repository_no_link_is_shown(tree: Path, remote: str) -> None:
    if remote:
        git(tree, "remote", "add", "origin", remote)
    found = metadata(tree)
    assert "urls" not in found
    text = description(found)
    assert LINK.findall(text) == []
    assert "docs/tasks.md describes tasks" in " ".join(text.split())


def test_a_repository_around_the_source_distribution_is_not_its_own(tree: Path) -> None:
    git(tree, "remote", "add", "origin", "https://forge.test/else/shop.git")
    inner = tree / "vendored"
    inner.mkdir()
    for name in FILES:
        (tree / name).rename(inner / name)
    (tree / "docs").rename(inner / "docs")
    assert "urls" not in metadata(inner)


def test_the_wheel_of_a_source_distribution_has_the_same_links(tree: Path) -> None:
    git(tree, "remote", "add", "origin", "https://forge.test/team/queueops.git")
    for name in ("queueops", "console", "queueops_demo", "static", "templates"):
        (tree / name).mkdir()
        (tree / name / "__init__.py").touch()
    run(["-m", "hatchling", "build", "--target", "sdist"], tree)
    (archive,) = (tree / "dist").glob("*.tar.gz")
    shutil.unpack_archive(archive, tree / "unpacked", filter="data")
    (source,) = (tree / "unpacked").iterdir()
    assert metadata(source)["urls"]["Source"] == "https://forge.test/team/queueops"
    assert "https://forge.test/team/queueops/raw/HEAD/docs/console.png" in description(metadata(source))


def test_no_classifier_is_missing() -> None:
    found = metadata(ROOT)["classifiers"]
    assert found == sorted(found)
    assert {
        "Framework :: Django :: 5.2",
        "Framework :: Django :: 6.1",
        "Framework :: Pytest",
        "Intended Audience :: Developers",
        "Programming Language :: Python :: 3 :: Only",
        "Topic :: System :: Distributed Computing",
        "Typing :: Typed",
    } <= set(found)
