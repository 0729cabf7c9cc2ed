"""`python -m tests.release.contents FOLDER`: what a wheel and a source distribution have, and must not have."""

from __future__ import annotations

import re
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from email.parser import HeaderParser
from pathlib import Path

from tests.repository.test_tree import ROOT, files

PLACES = {"static/": "console/static/", "templates/": "console/templates/"}
PACKAGES = ("queueops/", "console/", "queueops_demo/", *PLACES)
NEEDED = {
    "templates": r"console/templates/console/.+\.html",
    "static files": r"console/static/console/built/.+\.(?:css|js)",
    "migrations": r"console/migrations/0001_.+\.py",
    "Lua": r"queueops/redis/lua/.+\.lua",
    "types": r"(?:queueops|console)/py\.typed",
}
"""At least one file of each sort is in the wheel."""
FOREIGN = re.compile(r"(?:^|/)(?:tests?|var|node_modules|__pycache__|\.[^/]+)/|\.pyc$|secret_key|\.sqlite3$")
LICENCE = re.compile(r"^\| `([\w-]+)/` \| `[^`]+` \| ([\d.]+) \| (\S[^|]*?) \|", re.MULTILINE)
"""A row of the table of what is vendored: its folder, version and licence."""


def faults(folder: Path) -> Iterator[str]:
    """What is wrong with the one wheel and the one source distribution of a folder."""
    (wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (metadata,) = (name for name in names if name.endswith(".dist-info/METADATA"))
        headers = HeaderParser().parsestr(archive.read(metadata).decode())
    yield from _of_wheel([name for name in names if ".dist-info/" not in name])
    yield from _of_licences([name for name in names if ".dist-info/licenses/" in name])
    with tarfile.open(sdist) as archive:
        held = {name.partition("/")[2] for name in archive.getnames()}
    yield from (f"the source distribution lacks {name}" for name in sorted(_ours() - held))
    for name in ("Name", "Version", "Summary", "License-Expression", "Requires-Python", "Description-Content-Type"):
        if not headers.get(name):
            yield f"the metadata lack {name}"


def _of_wheel(names: list[str]) -> Iterator[str]:
    wanted = {_placed(name) for name in _ours() if name.startswith(PACKAGES)}
    yield from (f"the wheel lacks {name}" for name in sorted(wanted - set(names)))
    yield from (f"the wheel has {name}, which the repository has not" for name in sorted(set(names) - wanted))
    yield from (f"the wheel has {name}" for name in names if FOREIGN.search(name))
    for sort, pattern in NEEDED.items():
        if not any(re.fullmatch(pattern, name) for name in names):
            yield f"the wheel has no {sort}"


def _of_licences(names: list[str]) -> Iterator[str]:
    """Each vendored folder has a licence in the wheel, and a row of the table that names it."""
    table = {folder: licence for folder, _, licence in LICENCE.findall((ROOT / "static/vendor/README.md").read_text())}
    for folder in sorted(path.name for path in (ROOT / "static/vendor").iterdir() if path.is_dir()):
        if not any(name.endswith(f"/static/vendor/{folder}/LICENSE") for name in names):
            yield f"the wheel has no licence of static/vendor/{folder}"
        if folder not in table:
            yield f"static/vendor/README.md names no licence of {folder}"
    if not any(name.endswith("/licenses/LICENSE") for name in names):
        yield "the wheel has no licence of its own"


def _ours() -> set[str]:
    return {path.relative_to(ROOT).as_posix() for path in files()}


def _placed(name: str) -> str:
    """Where the wheel has a file of the repository."""
    return next((to + name.removeprefix(at) for at, to in PLACES.items() if name.startswith(at)), name)


if __name__ == "__main__":
    if found := list(faults(Path(sys.argv[1]))):
        sys.exit("\n".join(found))
    print("The wheel and the source distribution have what they need, and the licences of all that is vendored.")
