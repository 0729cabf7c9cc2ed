"""Stored sentences: texts of the engine that are stored in English, and shown in the reader's language.

Workers and the store's functions write short texts into records and logs, such as the reason of an end. A page compares
such a text with the patterns that the engine writes: `Stored`. A text that fits none is shown as it is. Values stay as
they are; a reason or an advice among them may be such a text itself.

Alarms have many patterns, one behind the other. So their patterns and values are stored beside the text: `packed`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from functools import lru_cache
from itertools import islice
from typing import Any, NamedTuple, Self

import msgspec
from django.utils.translation import gettext, pgettext

from queueops.model import kinds
from queueops.model.explained import known_patterns
from queueops.model.sentences import ENGLISH, Figure, Moment, Sentence, Translatable, language, marked, translated
from queueops.model.states import table

PATTERNS = (
    marked("its lease expired: it was not renewed by worker %(worker)s"),
    marked("its worker process died: %(reason)s; others ran in it too, and nothing says that this one was the cause"),
    marked("its worker process died: %(reason)s"),
    marked("exit status %(number)s"),
    marked("signal %(number)s"),
    marked("it ran past a hard limit"),
    marked("it gave no sign of life for %(number)s s and was killed"),
    marked("lost its worker %(number)s times: %(reason)s"),
    marked("The task did not stop within %(number)s s, so its process was killed."),
    marked("its executor could not begin it: %(reason)s"),
    marked("restarted itself more often than its retries allow"),
    marked("restarted itself"),
    marked("expired: it had not begun in time"),
    marked("cancelled by an operator"),
    marked("cancelled before its begin"),
    marked("it was discarded"),
    marked(
        "no task of this worker is named %(name)s (kind %(kind)s); a worker imports the module tasks of each installed"
        " app, and what that imports"
    ),
    marked("the code of %(name)s cannot be loaded: %(error)s"),
    marked("the follow-up on %(outcome)s was not pushed: %(reason)s"),
    marked("its follow-up could not be pushed: %(reason)s"),
    marked("its pool could not read it"),
    marked("its id %(id)s is in use"),
    marked("it has the id of the task that it follows"),
    marked("field fu of its record is not JSON"),
    marked("field fu of its record does not describe it"),
    marked("its record cannot be read: it can only be discarded"),
    marked("its record cannot be read"),
    marked("its record has an unknown state, and it is about to be quarantined"),
    marked("it is in the trash already"),
    marked("a task with this id exists"),
    marked("an operator has acted on it meanwhile: look at it as it is now"),
    marked("%(verb)s is not possible while it is %(state)s"),
    marked("%(verb)s needs a number"),
    marked("told the worker to interrupt it"),
    marked("asked the worker to stop it"),
    marked("what it is made of was cancelled with it, and cannot wait until it is due: retry it, and it begins now"),
    marked("its record is lost"),
    marked("Worker %(host)s process %(process)s of pool %(pool)s started, version %(version)s."),
)
"""What the kernel writes. Kinds have others: `KindDetails.stored`."""
VALUES = {
    "number": r"[\d.,]+",
    "ulid": r"[0-7][0-9A-HJKMNP-TV-Z]{25}\S*",
    "id": r"\S+",
    "verb": r"[a-z_]+",
}
"""What a value of this name looks like. Others are any text."""
ANY_TEXT = ".*?"
WITHOUT_CLASS = ("WorkerLost", "HardTimeout", "Crash", "Failed")
"""Types of stored errors that no class raises."""
LEAST, LEAST_TYPED = 12, 20
"""Letters that the message of an error has beside its values, and any text that may be of an operator.

One with fewer could be in the words of an exception or an operator, too.
"""
TYPED = "typed"
"""Origin of a text that may be of an operator, such as the reason of a cancel."""
LONGEST = 4000
"""Characters of a text that is compared with patterns."""
DEEPEST = 5
"""Texts of the engine one in another that are translated. An inner one stays as it is."""
MOST_ENDS = 20
"""Sentences of a text in which the end of the engine's words is looked for."""
REASON_AND_ANSWER = " %(reason)s %(answer)s"
MOST_PACKED = 4000
"""Characters of a packed sentence. A longer one is stored as English text alone."""
PLACEHOLDER = re.compile(r"%\((\w+)\)s|%%")


class Stored(Translatable):
    """A text as it was stored. A page shows it in the reader's language if it is one of the engine."""

    __slots__ = ("origin",)
    origin: str

    def __new__(cls, text: str, origin: str = "") -> Self:
        """``origin``: the class of the error whose message it is, or TYPED."""
        made = super().__new__(cls, text)
        made.origin = origin
        return made

    def __getnewargs__(self) -> tuple[Any, ...]:
        """What a copy is made of."""
        return str(self), self.origin

    def altered(self, text: str) -> str:
        """The same with another text: a mask leaves the words of the engine."""
        return type(self)(text, self.origin)

    def translated(self) -> str:
        """The text in the active language."""
        return str(self) if language() == ENGLISH else translated(recognized(str(self), self.origin))


class StateWord(Translatable):
    """The stored word of a state, as the console names it."""

    __slots__ = ()

    def translated(self) -> str:
        """The label of the state."""
        return pgettext("state", "running" if self == "locked" else str(self))


class VerbWord(Translatable):
    """The stored word of a verb. Its label in the catalogs is the same words."""

    __slots__ = ()

    def translated(self) -> str:
        """The label of the verb; the word itself if there is none."""
        label = self.replace("_", " ").capitalize()
        shown = gettext(label)
        return shown if shown != label else str(self)


def message(type_: str, text: str) -> str:
    """The message of a stored error: a text of the engine if the engine has the class."""
    if type_ in WITHOUT_CLASS:
        return Stored(text)
    return Stored(text, type_) if type_ in _of_errors() else text


@lru_cache(maxsize=1000)
def recognized(text: str, origin: str = "", depth: int = 0) -> str:
    """The sentence that this stored text is; the text itself if it is none of the engine."""
    if len(text) > LONGEST or depth > DEEPEST:
        return text
    for pattern in (_of_errors()[origin],) if origin in _of_errors() else _of_texts():
        if origin == TYPED and pattern.letters < LEAST_TYPED:
            continue
        if text.startswith(pattern.begin) and (found := pattern.form.fullmatch(text)) is not None:
            values = found.groupdict()
            if pattern.text.endswith(REASON_AND_ANSWER):
                values["reason"], values["answer"] = _parted(f"{values['reason']} {values['answer']}", depth)
            told = {name: each if each == text else _value(name, each, depth) for name, each in values.items()}
            return Sentence(pattern.text, told)
    type_, _, rest = text.partition(": ")
    if not origin and rest and type_ in _of_errors():
        return Sentence("%(type)s: %(message)s", {"type": type_, "message": recognized(rest, type_, depth)})
    return text


def _parted(text: str, depth: int) -> tuple[str, str]:
    """The longest beginning that is a text of the engine, and the rest."""
    ends = [found.start() for found in islice(re.finditer(r"(?<=\.) ", text), MOST_ENDS)]
    tried = (len(text), *reversed(ends))
    end = next((end for end in tried if isinstance(recognized(text[:end], "", depth + 1), Sentence)), len(text))
    return text[:end], text[end + 1 :]


def _value(name: str, text: str, depth: int) -> str:
    match name:
        case "reason" | "what" | "advice":
            return recognized(text, "", depth + 1)
        case "number":
            return Figure(text)
        case "state":
            return StateWord(text)
        case "verb":
            return VerbWord(text)
    return text


class _Pattern(NamedTuple):
    text: str
    begin: str
    form: re.Pattern[str]
    letters: int


@kinds.cached
def _of_texts() -> list[_Pattern]:
    """What the engine writes into records and logs: the most exact pattern first."""
    told = {*PATTERNS, *(text for details in kinds.roles("details") for text in details.stored)}
    errors = {pattern for pattern in _of_errors().values() if pattern.letters >= LEAST}
    return sorted({*map(_pattern, told), *errors}, key=lambda each: (-each.letters, each.text))


@kinds.cached
def _of_errors() -> dict[str, _Pattern]:
    """The messages of the engine's errors, by class."""
    return {name: _pattern(text, may_be_cut=True) for name, text in known_patterns().items()}


def _pattern(text: str, *, may_be_cut: bool = False) -> _Pattern:
    """``may_be_cut``: a full stop behind the last value may be missing, as in titles of errors.

    A value of any text ends at the first place where what comes before the next such value fits: its group is atomic.
    Without that, hostile texts took seconds.
    """
    literals: list[str] = []
    form: list[str] = []
    place, is_open = 0, False
    for found in PLACEHOLDER.finditer(text):
        literals.append(text[place : found.start()])
        form.append(re.escape(literals[-1]))
        value = _group(found[1], form) if found[1] else "%"
        if ANY_TEXT in value:
            form.append(")(?>" if is_open else "(?>")
            is_open = True
        form.append(value)
        place = found.end()
    literals.append(text[place:])
    end = re.escape(literals[-1])
    form += [f"(?:{end})?" if may_be_cut and form and literals[-1] == "." else end, r"\Z", ")" * is_open]
    letters = sum(map(len, literals)) + LEAST_TYPED * ("%(ulid)s" in text)  # an id as the engine makes it
    return _Pattern(text, literals[0], re.compile("".join(form), re.DOTALL), letters)


def _group(name: str, before: Iterable[str]) -> str:
    """A placeholder as an expression; a value that a pattern has twice is the same at both places."""
    begin = f"(?P<{name}>"
    value = "|".join(table().states) if name == "state" else VALUES.get(name, ANY_TEXT)
    return f"(?P={name})" if any(each.startswith(begin) for each in before) else f"{begin}{value})"


# Pattern and values beside the text


def packed(text: str) -> str:
    """The pattern and the values of a sentence as JSON; empty for other texts, and if it is too long."""
    if not isinstance(text, Sentence):
        return ""
    data = msgspec.json.encode(_parts(text)).decode()
    return data if len(data) <= MOST_PACKED else ""


def unpacked(data: str, text: str) -> str:
    """The sentence that was stored beside this text, which may be cut; the text itself without a sentence that fits."""
    try:
        made = _made(msgspec.json.decode(data)) if data and len(data) <= MOST_PACKED else text
    except (msgspec.DecodeError, ValueError, TypeError, KeyError, OverflowError, RecursionError):
        return text
    return made if text and made.startswith(text) else text


def _parts(text: str) -> object:
    match text:
        case Sentence():
            values = {name: _parts(value) for name, value in text.values.items()}
            return ["say", text.pattern, values, text.plural, text.number]
        case Figure():
            return ["figure", str(text)]
        case Moment():
            return ["moment", text.at.timestamp()]
        case Stored():
            return ["stored", str(text)]
    return str(text)


def _made(parts: Any) -> str:
    match parts:
        case str():
            return parts
        case ["say", str(pattern), dict(values), str(plural), int(number)] if _is_plain(pattern) and _is_plain(plural):
            return Sentence(pattern, {name: _made(value) for name, value in values.items()}, plural, number)
        case ["figure", str(text)]:
            return Figure(text)
        case ["moment", int(at) | float(at)]:
            return Moment(datetime.fromtimestamp(at, UTC))
        case ["stored", str(text)]:
            return Stored(text)
    raise ValueError("not a sentence")


def _is_plain(pattern: str) -> bool:
    """Whether it has placeholders for texts alone: no width, which could make a long text of a short one."""
    return "%" not in PLACEHOLDER.sub("", pattern)
