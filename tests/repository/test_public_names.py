"""The names that `queueops` exports: each is importable, and type checkers are told the same as Python."""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path

import queueops
from queueops import MapReduce, chain, current, task
from queueops.testing import eager
from tests.support.for_each import for_each

TO_ANNOTATE = ("Composite", "Context", "Progress", "Results", "State")
TO_RAISE = ("Permanent", "RetryLater")
TO_CATCH = ("Cancelled", "SoftTimeout", "TaskFailed", "TaskCancelled", "QueueOpsError")


def told_to_type_checkers() -> dict[str, str]:
    """The names below `if TYPE_CHECKING`, and the module of each."""
    tree = ast.parse(Path(queueops.__file__).read_text())
    (block,) = [node for node in tree.body if isinstance(node, ast.If)]
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    assert all(alias.asname == alias.name for node in imports for alias in node.names)
    return {alias.name: node.module or "" for node in imports for alias in node.names}


def test_type_checkers_are_told_what_python_finds() -> None:
    found = {name: module for name, module in queueops._HOME_OF.items() if name != "Depends"}
    assert told_to_type_checkers() == found


@for_each("name", queueops.__all__)
def test_each_exported_name_is_there(name: str) -> None:
    value = getattr(queueops, name)
    assert name == "__version__" or value is getattr(import_module(queueops._HOME_OF[name]), name)
    assert name in dir(queueops)


@for_each("name", [*TO_ANNOTATE, *TO_RAISE, *TO_CATCH])
def test_what_users_annotate_and_catch_is_exported(name: str) -> None:
    assert name in queueops.__all__
    assert name in (Path(queueops.__file__).parents[1] / "docs" / "tasks.md").read_text()


@task(name="tests.public_names.look")
def look() -> list[bool]:
    """Whether what runs here is what the names say."""
    return [isinstance(current(), queueops.Context), issubclass(queueops.Cancelled, BaseException)]


class Seen(MapReduce):
    """Tells what its reduce gets."""

    def map(self) -> list[int]:
        """One chunk."""
        return [1]

    def process(self, chunk):
        return chunk

    def reduce(self, results: queueops.Results) -> bool:
        """Whether that is what the name says."""
        return isinstance(results, queueops.Results)


def test_the_names_are_those_of_what_users_meet() -> None:
    with eager():
        handle = look.push()
        assert handle.result() == [True, True]
        assert handle.state is queueops.State.SUCCEEDED
        assert Seen.push().result()
        whole: queueops.Composite = chain(look.s())
        assert isinstance(whole, queueops.Composite)
        assert isinstance(whole.push().progress, queueops.Progress)
