"""Syntax of a task filter: a text such as `state:failed age>10m (lane:a or lane:b)` as a tree, and back."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple, NoReturn

from queueops.errors import FilterError
from queueops.model.sentences import say

LONGEST = 1000
MOST_TERMS, DEEPEST = 40, 10
_FIELD = re.compile(r"([A-Za-z_]+)(:>=|:<=|:>|:<|>=|<=|:|=|>|<)")
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
_BARE = re.compile(r'[^\s()"]+')
_WORDS = ("or", "and", "not")


class Term(NamedTuple):
    """`field:value`, or a single word, which has no field. The operator is `:`, `>`, `>=`, `<` or `<=`."""

    field: str
    operator: str
    value: str
    at: int = 0  # its position in the text, from 1 on


class Not(NamedTuple):
    """What does not match the other node."""

    of: Node


class All(NamedTuple):
    """What matches each node."""

    of: tuple[Node, ...]


class Either(NamedTuple):
    """What matches at least one node."""

    of: tuple[Node, ...]


Node = Term | Not | All | Either


def parsed(text: str) -> All:
    """The tree of a filter; an empty text matches all. Raises FilterError with the position and advice."""
    if len(text) > LONGEST:
        raise FilterError(reason=say("it is longer than %(most)s characters.", most=str(LONGEST)))
    return _Parser(text).whole()


def written(node: Node) -> str:
    """The text of a tree, which parses to the same tree."""
    match node:
        case Term(field, operator, value):
            return f"{field}{operator}{_value(value, alone=not field)}" if field else _value(value, alone=True)
        case Not(of):
            return f"-{_grouped(of)}"
        case All(parts):
            return " ".join(_grouped(part) if isinstance(part, All | Either) else written(part) for part in parts)
        case Either(parts):
            return " or ".join(written(part) for part in parts)


def terms(node: Node) -> Iterator[Term]:
    """All terms of a tree."""
    match node:
        case Term():
            yield node
        case Not(of):
            yield from terms(of)
        case All(parts) | Either(parts):
            for part in parts:
                yield from terms(part)


def refuse(at: int, what: str) -> NoReturn:
    """Raise the error of a position."""
    raise FilterError(reason=say("at character %(position)s: %(reason)s", position=str(at), reason=what))


def _grouped(node: Node) -> str:
    return f"({written(node)})" if isinstance(node, All | Either) else written(node)


def _value(value: str, *, alone: bool) -> str:
    is_bare = _BARE.fullmatch(value) and not value.startswith((">", "<", "="))
    if is_bare and alone:
        is_bare = value.lower() not in _WORDS and not value.startswith("-") and not _FIELD.match(value)
    return value if is_bare else '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


class _Parser:
    """Recursive descent over the text; `at` is the next character."""

    def __init__(self, text: str) -> None:
        self.text, self.at, self.count, self.depth = text, 0, 0, 0

    def whole(self) -> All:
        found = self._either()
        if not self._is_over():
            refuse(self.at + 1, say("this ) has no ( before it. Remove it, or add the (."))
        return found if isinstance(found, All) else All((found,))

    def _is_over(self) -> bool:
        while self.at < len(self.text) and self.text[self.at].isspace():
            self.at += 1
        return self.at >= len(self.text)

    def _word(self, word: str) -> bool:
        """Take this word, if it is next."""
        if self._is_over() or not (found := _BARE.match(self.text, self.at)) or found[0].lower() != word:
            return False
        self.at = found.end()
        return True

    def _either(self) -> Node:
        parts = [self._all()]
        while self._word("or"):
            at = self.at
            parts.append(self._all())
            if not parts[-1].of or not parts[-2].of:
                refuse(at - 1, say("or stands between two conditions, such as lane:a or lane:b."))
        return parts[0] if len(parts) == 1 else Either(tuple(_plain(part) for part in parts))

    def _all(self) -> All:
        parts: list[Node] = []
        while not self._is_over() and self.text[self.at] != ")":
            if self._word("and"):
                continue
            found = _BARE.match(self.text, self.at)
            if found and found[0].lower() == "or":
                break
            part = self._one()
            parts += part.of if isinstance(part, All) else (part,)
        return All(tuple(parts))

    def _one(self) -> Node:
        if self._is_over():
            refuse(self.at + 1, say("a condition is missing at the end, such as state:failed."))
        if self.text[self.at] == "-" or self._word("not"):
            self.at += self.text[self.at : self.at + 1] == "-"
            return Not(_plain(self._deeper(self._one)))
        if self.text[self.at] == "(":
            return self._deeper(self._group)
        self.count += 1
        if self.count > MOST_TERMS:
            refuse(self.at + 1, say("a filter has at most %(most)s conditions.", most=str(MOST_TERMS)))
        return self._term()

    def _deeper(self, part: Callable[[], Node]) -> Node:
        self.depth += 1
        if self.depth > DEEPEST:
            refuse(self.at + 1, say("conditions are nested more than %(most)s times.", most=str(DEEPEST)))
        found = part()
        self.depth -= 1
        return found

    def _group(self) -> Node:
        at = self.at
        self.at += 1
        found = self._either()
        if self._is_over() or self.text[self.at] != ")":
            refuse(at + 1, say("this ( has no ) behind it. Add the )."))
        if found == All(()):
            refuse(at + 1, say("nothing stands between ( and ). Write a condition there, or remove them."))
        self.at += 1
        return _plain(found)

    def _term(self) -> Term:
        at = self.at
        if not (found := _FIELD.match(self.text, at)):
            return Term("", "", self._given(), at + 1)
        field, operator = found[1].lower(), found[2]
        self.at = found.end()
        if self.at >= len(self.text) or self.text[self.at].isspace() or self.text[self.at] == ")":
            told = say("%(field)s needs a value behind it, without a space.", field=f"{field}{operator}")
            refuse(at + 1, told)
        return Term(field, ":" if operator in ":=" else operator.lstrip(":"), self._given(), at + 1)

    def _given(self) -> str:
        if self.text[self.at] == '"':
            if not (quoted := _QUOTED.match(self.text, self.at)):
                refuse(self.at + 1, say('this " has no second " behind it. Add it at the end of the text.'))
            self.at = quoted.end()
            return re.sub(r"\\(.)", r"\1", quoted[1])
        found = _BARE.match(self.text, self.at)
        if found is None:
            refuse(self.at + 1, say("a value is missing here; put a text with ( or ) between quotes."))
        self.at = found.end()
        return found[0]


def _plain(node: Node) -> Node:
    """The node itself of a conjunction of one."""
    return node.of[0] if isinstance(node, All) and len(node.of) == 1 else node
