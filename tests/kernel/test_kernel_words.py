"""The kernel's Lua knows no kind: what it still names stands in a list, which only becomes shorter."""

from __future__ import annotations

import re
from pathlib import Path

from tests.kernel.test_library import FILES, MODULE_PATHS, OWNER, used

LIST = Path(__file__).with_name("kernel_words.txt")
KERNEL = [path for path in FILES if "queueops/redis/lua" in path.as_posix()]
WORDS = re.compile(
    r"\b\w*(?:chunk|mapreduce|mapping|aggregating|composite|famil|chain|iterator|child|parent|twin|outbox)\w*\b|'group'"
)
"""Names of kinds and of what only kinds have. Most tasks are no group, and `enqueue` has groups of its own."""
OF_KINDS = {name for name, module in OWNER.items() if MODULE_PATHS[module] not in KERNEL}


def words_of(path: Path) -> set[str]:
    """What a file names of kinds: functions and values of their modules, and words of theirs."""
    text = re.sub(r"--.*", "", path.read_text())
    return {word.strip("'") for word in WORDS.findall(text)} | (used(path) & OF_KINDS)


def test_the_kernel_names_no_kind_beside_those_that_are_listed() -> None:
    folder = MODULE_PATHS["base"].parents[1]
    found = {f"{path.relative_to(folder).as_posix()} {word}" for path in KERNEL for word in words_of(path)}
    listed = LIST.read_text().splitlines()
    assert sorted(found - set(listed)) == [], "the kernel names something of a kind: let the kind fill a hook"
    assert sorted(set(listed) - found) == [], f"remove what is no longer named from {LIST.name}"
    assert listed == sorted(set(listed))


def test_a_function_of_a_kind_and_a_word_of_a_kind_are_found(tmp_path: Path) -> None:
    path = tmp_path / "sample.lua"
    path.write_text("-- a chunk\nif record.k == 'group' or 'it' == 'aggregating' then lib.redo_step() end\n")
    assert words_of(path) == {"group", "aggregating", "redo_step"}
