"""Imports: names of queueops come in, and imports of the old queue go when nothing needs them any more."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from queueops.migrate.code import text_of
from queueops.migrate.rewriter import Rewriter

NO_COMMA = cst.MaybeSentinel.DEFAULT
Imported = tuple[str, str]
"""A module, and what is imported of it; empty for `import module`."""


def settled(rewriter: Rewriter, tree: cst.Module) -> cst.Module:
    """The module with its imports as the new code needs them."""
    needless = _needless(rewriter)
    place, above = _place(tree.body, needless)
    tree = tree.visit(_Removal(needless)) if needless else tree
    body = list(tree.body)
    lines = _lines(rewriter, body, rewriter.used)
    new = [cst.parse_statement(f"{line}\n", config=tree.config_for_parsing) for line in lines]
    if new and above:
        kept = (
            body[place].leading_lines if place < len(body) and isinstance(body[place], cst.SimpleStatementLine) else ()
        )
        if list(kept) != list(above):  # the statement that they stood above has gone
            new[0] = new[0].with_changes(leading_lines=above)
        elif _is_import(body[place]):
            new[0] = new[0].with_changes(leading_lines=above)
            body[place] = body[place].with_changes(leading_lines=())
    return tree.with_changes(body=[*body[:place], *new, *body[place:]])


def _is_import(line: cst.CSTNode) -> bool:
    return isinstance(line, cst.SimpleStatementLine) and isinstance(line.body[0], (cst.Import, cst.ImportFrom))


def _place(body: Sequence[cst.CSTNode], needless: set[Imported]) -> tuple[int, Sequence[cst.EmptyLine]]:
    """Where new imports go, and the lines above: at the first import that goes, else behind the first imports."""
    at = 0
    for number, line in enumerate(body):
        small = line.body[0] if isinstance(line, cst.SimpleStatementLine) else None
        if isinstance(small, (cst.Import, cst.ImportFrom)) and needless.intersection(_imported(small)):
            return number, getattr(line, "leading_lines", ())
        docstring = number == 0 and isinstance(small, cst.Expr) and isinstance(small.value, cst.SimpleString)
        if docstring or isinstance(small, (cst.Import, cst.ImportFrom)):
            at = number + 1
        elif isinstance(line, (cst.FunctionDef, cst.ClassDef)):
            break
    return at, ()


def _needless(rewriter: Rewriter) -> set[Imported]:
    """Imports whose every use was rewritten."""
    found: dict[Imported, bool] = {}
    for assignment, uses in rewriter.names.imports():
        gone = bool(uses) and all(use in rewriter.handled for use in uses)
        exported = "__all__" in rewriter.names.source.text and f'"{assignment.name}"' in rewriter.names.source.text
        for key in _keys(assignment.node, assignment.name):
            found[key] = found.get(key, True) and gone and not exported
    return {key for key, gone in found.items() if gone}


def _keys(node: cst.CSTNode, name: str) -> list[Imported]:
    if isinstance(node, cst.Import) or (
        isinstance(node, cst.ImportFrom) and not isinstance(node.names, cst.ImportStar)
    ):
        pairs = zip(_imported(node), node.names, strict=True)  # type: ignore[arg-type]
        return [key for key, alias in pairs if _local(alias) == name]
    return []


def _imported(node: cst.Import | cst.ImportFrom) -> list[Imported]:
    """What a statement imports, in its order."""
    if isinstance(node, cst.Import):
        return [(_bare(alias), "") for alias in node.names]
    return [] if isinstance(node.names, cst.ImportStar) else [(_module(node), _bare(alias)) for alias in node.names]


def _bare(alias: cst.ImportAlias) -> str:
    return text_of(alias.with_changes(comma=NO_COMMA))


def _local(alias: cst.ImportAlias) -> str:
    return text_of(alias.asname.name) if alias.asname else text_of(alias.name)


def _module(node: cst.ImportFrom) -> str:
    return "." * len(node.relative) + (text_of(node.module) if node.module else "")


class _Removal(cst.CSTTransformer):
    """Takes imports out. The place of the first one is kept for what comes in."""

    def __init__(self, needless: set[Imported]) -> None:
        super().__init__()
        self.needless = needless

    def leave_ImportFrom(
        self, original_node: cst.ImportFrom, updated_node: cst.ImportFrom
    ) -> cst.BaseSmallStatement | cst.RemovalSentinel:
        """Take names out of `from module import ...`."""
        if isinstance(updated_node.names, cst.ImportStar):
            return updated_node
        module = _module(updated_node)
        kept = [alias for alias in updated_node.names if (module, _bare(alias)) not in self.needless]
        if len(kept) == len(updated_node.names):
            return updated_node
        if not kept:
            return cst.RemoveFromParent()
        last = updated_node.names[-1]
        kept[-1] = kept[-1].with_changes(comma=last.comma)
        return updated_node.with_changes(names=kept)

    def leave_Import(
        self, original_node: cst.Import, updated_node: cst.Import
    ) -> cst.BaseSmallStatement | cst.RemovalSentinel:
        """Take `import module` out, if it stands alone."""
        bare = [_bare(alias) for alias in updated_node.names]
        return cst.RemoveFromParent() if all((name, "") in self.needless for name in bare) else updated_node


def _lines(
    rewriter: Rewriter, body: list[cst.SimpleStatementLine | cst.BaseCompoundStatement], used: set[str]
) -> list[str]:
    """The new import statements. Names are added to an import of queueops that is there."""
    names = set(used)
    here = [(at, found) for at, line in enumerate(body) if (found := _from_queueops(line)) is not None]
    if names and here:
        at, found = here[0]
        body[at] = _extended(body[at], found, names)
        names = set()
    present = {text_of(small) for line in body if isinstance(line, cst.SimpleStatementLine) for small in line.body}
    lines = [f"import {module}" for module in sorted(rewriter.modules) if f"import {module}" not in present]
    return [*lines, f"from queueops import {', '.join(sorted(names, key=_order))}"] if names else lines


def _order(name: str) -> tuple[bool, str]:
    """Classes first, as isort does."""
    return not name[0].isupper(), name


def _from_queueops(line: cst.CSTNode) -> cst.ImportFrom | None:
    if not isinstance(line, cst.SimpleStatementLine):
        return None
    found = line.body[0]
    if (
        isinstance(found, cst.ImportFrom)
        and _module(found) == "queueops"
        and not isinstance(found.names, cst.ImportStar)
    ):
        return found
    return None


def _extended(line: cst.CSTNode, found: cst.ImportFrom, names: set[str]) -> cst.SimpleStatementLine:
    if not isinstance(line, cst.SimpleStatementLine) or isinstance(found.names, cst.ImportStar):
        raise TypeError(text_of(line))
    old = {_local(alias) for alias in found.names}
    first = found.names[0].comma if len(found.names) > 1 else NO_COMMA
    last = found.names[-1]
    added = [cst.ImportAlias(cst.Name(name)) for name in sorted(names - old, key=_order)]
    if not added:
        return line
    joined = [*found.names[:-1], last.with_changes(comma=first), *(alias.with_changes(comma=first) for alias in added)]
    joined[-1] = joined[-1].with_changes(comma=last.comma)
    return line.with_changes(body=[found.with_changes(names=joined), *line.body[1:]])
