"""Lua of the kernel needs no module of a kind, and no kind needs one of another kind: they ask hooks."""

from __future__ import annotations

from queueops.model import kinds
from tests.kernel.test_library import FILES, MODULE_PATHS, OWNER, needs, used
from tests.support.for_each import for_each

KERNEL = [path for path in FILES if "queueops/redis/lua" in path.as_posix()]
OF_KINDS = {name for name, path in MODULE_PATHS.items() if path not in KERNEL}
BY_KIND = {"kernel": KERNEL} | {
    kind.name: found
    for kind in kinds.KINDS
    if (found := [path for path in FILES if f"{type(kind).__module__.replace('.', '/')}/lua" in path.as_posix()])
}


@for_each("kind", BY_KIND)
def test_lua_needs_and_names_nothing_of_another_kind(kind: str) -> None:
    others = OF_KINDS - {path.stem for path in BY_KIND[kind]}
    foreign = {name for name, module in OWNER.items() if module in others}
    found = {path.stem: sorted(used(path) & foreign | needs(path) & others) for path in BY_KIND[kind]}
    assert {name: words for name, words in found.items() if words} == {}, "let the kind fill a hook (lib/base.lua)"
