"""The source tree keeps the house rules that no tool knows."""

from __future__ import annotations

import ast
import re
import subprocess
import unicodedata
from collections.abc import Iterator
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
LONGEST, LONGEST_LUA = 400, 120  # lines; an include file of Lua may be as long as a module
TEXT = {".py", ".lua", ".html", ".css", ".js", ".md", ".toml", ".txt", ".yml", ".yaml", ".json", ".svg", ""}
SAFE_PARTS = ("static/vendor/", "static/console/built/", "/migrations/")
FORBIDDEN_NAMES = {"utils", "util", "helpers", "helper", "common", "manager", "managers", "misc"}
FORBIDDEN_MODULES = {"pickle", "marshal", "shelve", "dill", "cloudpickle"}
FORBIDDEN_CALLS = {"eval", "exec", "compile", "__import__"}
WORDS = re.compile("|".join([*FORBIDDEN_MODULES, *FORBIDDEN_CALLS, "shell"]))
HOME = re.compile(r"(?<![\w.])/(?:home|Users|root|work)/[\w.-]+|[A-Z]:\\\\Users")


@cache
def files() -> tuple[Path, ...]:
    """Every file of the repository, as git sees it; all files where there is no git."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    try:
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout.decode().split("\0")
    except (OSError, subprocess.CalledProcessError):
        listed = []
    found = tuple(ROOT / name for name in listed if name and (ROOT / name).is_file())
    return found or tuple(walked(ROOT))


def walked(root: Path) -> Iterator[Path]:
    """The files of a tree without what its .gitignore names: environments, caches and what a build makes."""
    lines = (root / ".gitignore").read_text().split()
    anywhere = [".git", *(line.rstrip("/") for line in lines if not line.startswith("/"))]
    at_the_top = [*anywhere, *(line.strip("/") for line in lines if line.startswith("/"))]
    folders = [root]
    while folders:
        folder = folders.pop()
        ignored = at_the_top if folder == root else anywhere
        kept = [path for path in folder.iterdir() if not any(fnmatch(path.name, name) for name in ignored)]
        folders += (path for path in kept if path.is_dir() and not path.is_symlink())
        yield from (path for path in kept if path.is_file())


def ours(*suffixes: str) -> Iterator[Path]:
    """The files with these endings that we wrote."""
    for path in files():
        if path.suffix in suffixes and not any(part in f"/{path.relative_to(ROOT)}" for part in SAFE_PARTS):
            yield path


def shown(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_a_tree_without_git_is_walked_but_for_what_is_made(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text((ROOT / ".gitignore").read_text())
    ours = ["queueops/build/part.py", "tests/var/part.py", ".ci/run", "README.md"]
    made = [".git/config", ".venv/lib/part.py", "build/part.py", "var/part.py", "dist/part.py"]
    made += [".mypy_cache/part.json", "tests/__pycache__/part.pyc", "tests/part.pyc", "queueops.egg-info/PKG-INFO"]
    for name in ours + made:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert {str(path.relative_to(tmp_path)) for path in walked(tmp_path)} == {".gitignore", *ours}


def test_no_file_is_too_long() -> None:
    lengths = {shown(path): len(path.read_text().splitlines()) for path in ours(".py", ".lua", ".js", ".css", ".html")}
    assert {name: lines for name, lines in lengths.items() if lines > LONGEST} == {}


def test_no_file_is_named_for_nothing() -> None:
    assert [shown(path) for path in ours(".py", ".lua", ".js") if path.stem in FORBIDDEN_NAMES] == []


def test_a_call_about_a_pool_goes_to_the_server_of_the_pool() -> None:
    """redis-py's client of a whole cluster waits for servers that a call has nothing to do with."""
    modules = [path for path in ours(".py") if shown(path).startswith("queueops/") and path.name != "store_client.py"]
    found = {shown(path): re.findall(r"(?:self|broker|_broker)\.client\.\w+", path.read_text()) for path in modules}
    assert {name: calls for name, calls in found.items() if calls} == {}


def suspicious(path: Path) -> Iterator[str]:
    """The imports and calls in a file that could run what is only data. A file without these words is not parsed."""
    text = unicodedata.normalize("NFKC", path.read_text())  # as Python reads names
    for node in ast.walk(ast.parse(text)) if WORDS.search(text) else ():
        found: list[str] = []
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [alias.name for alias in node.names] + [getattr(node, "module", None) or ""]
            found += (f"imports {name}" for name in names if name.partition(".")[0] in FORBIDDEN_MODULES)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in FORBIDDEN_CALLS:
            found.append(f"calls {node.func.id}")
        if isinstance(node, ast.keyword) and node.arg == "shell" and getattr(node.value, "value", None) is True:
            found.append("starts a shell")
        yield from (f"{shown(path)}:{getattr(node, 'lineno', 0)} {each}" for each in found)


def test_data_is_never_run() -> None:
    code = [path for path in ours(".py") if path.relative_to(ROOT).parts[0] in ("queueops", "console", "queueops_demo")]
    assert [finding for path in code for finding in suspicious(path)] == []


def test_no_path_of_somebodys_machine_is_in_the_tree() -> None:
    texts = [path for path in files() if path.suffix in TEXT and "static/vendor/" not in str(path)]
    found = {shown(path): HOME.findall(path.read_text(errors="replace")) for path in texts}
    assert {name: paths for name, paths in found.items() if paths} == {}


def test_what_is_vendored_names_no_map_and_asks_no_other_host() -> None:
    for path in (ROOT / "static" / "vendor").rglob("*.min.*"):
        text = path.read_text()
        assert "sourceMappingURL" not in text, path
        assert not re.search(r"@import|url\(\s*['\"]?https?:", text), path


def test_what_is_vendored_is_loaded_by_a_page_and_listed() -> None:
    pages = "".join(
        path.read_text()
        for path in ours(".html", ".py")
        if path.relative_to(ROOT).parts[0] in ("console", "queueops_demo", "templates")
    )
    pages += (ROOT / "tests/repository/bundles.py").read_text()  # builds what the pages load
    listed = (ROOT / "static" / "vendor" / "README.md").read_text()
    files = [path for path in (ROOT / "static" / "vendor").rglob("*") if path.suffix in (".js", ".css", ".svg")]
    assert [shown(path) for path in files if f"vendor/{path.parent.name}/{path.name}" not in pages] == []
    assert [path.parent.name for path in files if f"`{path.parent.name}/`" not in listed] == []


def test_what_is_vendored_has_its_licence() -> None:
    folders = [path for path in (ROOT / "static" / "vendor").iterdir() if path.is_dir()]
    assert folders
    assert [folder.name for folder in folders if not (folder / "LICENSE").is_file()] == []


def test_every_package_says_what_it_is() -> None:
    silent = [
        shown(path)
        for path in ours(".py")
        if path.relative_to(ROOT).parts[0] in ("queueops", "console", "queueops_demo")
        and ast.get_docstring(ast.parse(path.read_text())) is None
        and path.read_text().strip()
    ]
    assert silent == []
