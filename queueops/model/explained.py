"""Messages of errors in the reader's language: the template of the class as a pattern, with the fields of the error."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterable, Iterator
from importlib import import_module
from string import Formatter

from queueops import errors
from queueops.errors import Explained
from queueops.errors.known_words import nearest
from queueops.model.sentences import Figure, Sentence, say, translated


def explained(error: BaseException) -> str:
    """The message of an error in the active language; English if it has another text than that of its class."""
    if not isinstance(error, Explained):
        return str(error)
    pattern, values = _filled(type(error), error.fields)
    sentence = Sentence(pattern, values)
    return error.tidy(translated(sentence)) if error.tidy(sentence) == str(error) else str(error)


def patterns() -> list[str]:
    """The patterns of all errors, for catalogs of translations: `xgettext` cannot read them out of docstrings."""
    for module in pkgutil.iter_modules(errors.__path__, f"{errors.__name__}."):
        import_module(module.name)
    own = (cls for cls in _subclasses(Explained) if cls.__module__.startswith(f"{errors.__name__}."))
    return sorted({_filled(cls, {})[0] for cls in own})


def advised(word: str, known: Iterable[str]) -> Sentence:
    """The end of a message about an unknown word: the nearest known one, or all of them."""
    names = sorted(known)
    if near := nearest(word, names):
        return say("; did you mean %(name)s?", name=repr(near))
    return say("; known are: %(names)s", names=", ".join(names)) if names else say("; there are none")


def _filled(cls: type[Explained], fields: dict[str, object]) -> tuple[str, dict[str, str]]:
    pattern, values = [], {}
    for literal, name, spec, conversion in Formatter().parse(cls.template()):
        pattern.append(literal.replace("%", "%%"))
        if name is not None:
            pattern.append(f"%({name})s")
            values[name] = _shown(fields.get(name, "?"), spec or "", conversion)
    return "".join(pattern), values


def _shown(value: object, spec: str, conversion: str | None) -> str:
    if isinstance(value, str) and not conversion:
        return value
    text = format(repr(value) if conversion == "r" else value, spec)
    return Figure(text) if isinstance(value, int | float) else text


def _subclasses(cls: type[Explained]) -> Iterator[type[Explained]]:
    for each in cls.__subclasses__():
        yield each
        yield from _subclasses(each)
