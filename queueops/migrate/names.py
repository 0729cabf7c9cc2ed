"""Names of one file: what each name in its code stands for, across modules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

import libcst as cst
from libcst.metadata import (
    Assignment,
    BuiltinAssignment,
    ImportAssignment,
    MetadataWrapper,
    ParentNodeProvider,
    PositionProvider,
    QualifiedNameProvider,
    QualifiedNameSource,
    ScopeProvider,
)

from queueops.migrate.sources import Source, absolute


class Names:
    """The code of a file, with the places and the full names of its nodes."""

    def __init__(self, source: Source, aliases: Mapping[str, str]) -> None:
        self.source, self.aliases = source, aliases
        wrapper = MetadataWrapper(cst.parse_module(source.text.encode(source.encoding)), unsafe_skip_copy=True)
        self.module = wrapper.module
        found = wrapper.resolve_many([QualifiedNameProvider, ParentNodeProvider, PositionProvider, ScopeProvider])
        self._qualified: Mapping[cst.CSTNode, Any] = found[QualifiedNameProvider]
        self._parents: Mapping[cst.CSTNode, Any] = found[ParentNodeProvider]
        self._positions: Mapping[cst.CSTNode, Any] = found[PositionProvider]
        self._scopes: Mapping[cst.CSTNode, Any] = found[ScopeProvider]

    def line(self, node: cst.CSTNode) -> int:
        """The line of a node."""
        return int(self._positions[node].start.line)

    def parent(self, node: cst.CSTNode) -> cst.CSTNode:
        """The node around a node."""
        found: cst.CSTNode = self._parents[node]
        return found

    def full(self, node: cst.CSTNode) -> str:
        """The dotted name that a name or an attribute stands for, through imports; empty if it is not sure."""
        inner = node
        while isinstance(inner, cst.Attribute):
            inner = inner.value
        found = self._qualified.get(node, ()) if isinstance(inner, cst.Name) else ()
        names = set(found() if callable(found) else found)
        if len(names) != 1:
            return ""
        (one,) = names
        if one.source is QualifiedNameSource.BUILTIN:
            return ""
        if one.source is QualifiedNameSource.LOCAL:
            return self.origin(f"{self.source.module}.{one.name}")
        return self.origin(absolute(one.name, self.source.package))

    def origin(self, name: str) -> str:
        """The name under which a thing is defined, through modules that only import it."""
        for _ in range(5):
            head, _, rest = name.rpartition(".")
            if name in self.aliases:
                name = self.aliases[name]
            elif head in self.aliases:
                name = f"{self.aliases[head]}.{rest}"
            else:
                break
        return name

    def value_of(self, node: cst.CSTNode) -> cst.BaseExpression | None:
        """What a variable was set to, if its scope sets it once, by `name = value`."""
        if not isinstance(node, cst.Name) or (scope := self._scopes.get(node)) is None:
            return None
        found = list(scope[node.value])
        if len(found) != 1 or not isinstance(found[0], Assignment):
            return None
        target = self._parents.get(found[0].node)
        statement = self._parents.get(target) if isinstance(target, cst.AssignTarget) else None
        if isinstance(statement, cst.Assign) and len(statement.targets) == 1:
            return statement.value
        return None

    def enclosing(self, node: cst.CSTNode, *kinds: type[Any]) -> cst.CSTNode | None:
        """The nearest node of these kinds around a node."""
        above = self._parents.get(node)
        while above is not None and not isinstance(above, kinds):
            above = self._parents.get(above)
        found: cst.CSTNode | None = above
        return found

    def references(self, prefix: str) -> list[tuple[cst.Name, str]]:
        """The uses of names that are imported from a package, with their full names."""
        return [(node, name) for node, name in self._imported if f"{name}.".startswith(f"{prefix}.")]

    def attributes(self) -> list[cst.Attribute]:
        """All attributes in the code."""
        return [node for node in self._qualified if isinstance(node, cst.Attribute)]

    @cached_property
    def _imported(self) -> list[tuple[cst.Name, str]]:
        found: list[tuple[cst.Name, str]] = []
        for node, names in self._qualified.items():
            if isinstance(node, cst.Name) and not isinstance(self._parents.get(node), (cst.ImportAlias, cst.AsName)):
                for one in names() if callable(names) else names:
                    if one.source is QualifiedNameSource.IMPORT:
                        found.append((node, one.name))
        return found

    @cached_property
    def _assignments(self) -> dict[str, list[Any]]:
        found: dict[str, list[Any]] = {}
        for scope in {scope for scope in self._scopes.values() if scope is not None}:
            for each in scope.assignments:
                found.setdefault(each.name, []).append(each)
        return found

    def taken(self, name: str) -> bool:
        """Whether the file gives this name to something else than an import of queueops or of the old queue."""
        for each in self._assignments.get(name, ()):
            if not isinstance(each, ImportAssignment):
                return not isinstance(each, BuiltinAssignment)
            origins = {one.name for one in each.get_qualified_names_for(name)}
            if not any(origin.startswith(("queueops.", "celery", "huey", "rq.", "django_rq")) for origin in origins):
                return True
        return False

    def imports(self) -> Iterator[tuple[ImportAssignment, list[cst.CSTNode]]]:
        """Each name that is imported, and the names in the code that mean it."""
        for each in (each for found in self._assignments.values() for each in found):
            if isinstance(each, ImportAssignment):
                yield each, [leftmost(access.node) for access in each.references]


def leftmost(node: cst.CSTNode) -> cst.CSTNode:
    """The name at the left end of an expression with dots and calls."""
    while isinstance(node, (cst.Attribute, cst.Call, cst.Subscript)):
        node = node.func if isinstance(node, cst.Call) else node.value
    return node
