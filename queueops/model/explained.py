"""Messages of errors in the reader's language: the template of the class as a pattern, with the fields of the error."""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from string import Formatter

from queueops import errors
from queueops.errors import Explained
from queueops.errors.known_words import listed, nearest
from queueops.errors.refusals import ADVICE_TEXTS
from queueops.model.sentences import Figure, Sentence, say, translated

ENGINE = errors.__name__.partition(".")[0]
_ADVISED = {
    re.compile(r"; did you mean (?P<name>.*)\?", re.DOTALL): "; did you mean %(name)s?",
    re.compile(r"; known are: (?P<names>.*)", re.DOTALL): "; known are: %(names)s",
    re.compile("; there are none"): "; there are none",
}
"""What `advice` of the errors writes, and the patterns of `advised`."""


def explained(error: BaseException) -> str:
    """The message of an error in the active language; English if it has another text than that of its class."""
    if not isinstance(error, Explained):
        return str(error)
    pattern, values = _filled(type(error), error.fields)
    sentence = Sentence(pattern, values)
    return error.tidy(translated(sentence)) if error.tidy(sentence) == str(error) else str(error)


def sentence_of(error: Explained) -> str:
    """The message of an error as a sentence; its text alone if it is not that of its class."""
    sentence = Sentence(*_filled(type(error), error.fields))
    return sentence if sentence == str(error) else str(error)


def patterns() -> list[str]:
    """The patterns of all errors, for catalogs of translations: `xgettext` cannot read them out of docstrings."""
    for name in _modules_with_errors():
        import_module(name)
    return sorted({*known_patterns().values(), *(advice.replace("%", "%%") for advice in ADVICE_TEXTS)})


def known_patterns() -> dict[str, str]:
    """The patterns of the errors of `queueops.errors` and of imported modules of the engine, by class."""
    _import_errors()
    own = (cls for cls in _subclasses(Explained) if cls.__module__.partition(".")[0] == ENGINE)
    return {f"{cls.__module__}.{cls.__qualname__}": _filled(cls, {})[0] for cls in own}


def _import_errors() -> None:
    for module in pkgutil.iter_modules(errors.__path__, f"{errors.__name__}."):
        import_module(module.name)


def _modules_with_errors() -> list[str]:
    """Modules of the engine with a subclass of a class of the package of errors."""
    _import_errors()
    names = "|".join(sorted({cls.__name__ for cls in _subclasses(Explained)}))
    defines = re.compile(rf"^class \w+\((?:[\w.]+, )*(?:{names})\b", re.MULTILINE)
    (folder,) = import_module(ENGINE).__path__
    found = (path for path in Path(folder).rglob("*.py") if defines.search(path.read_text(encoding="utf-8")))
    parts = (path.relative_to(folder).with_suffix("").parts for path in found)
    return sorted(".".join((ENGINE, *each)).removesuffix(".__init__") for each in parts)


def advised(word: str, known: Iterable[str]) -> Sentence:
    """The end of a message about an unknown word: the nearest known one, or all of them."""
    names = sorted(known)
    if near := nearest(word, names):
        return say("; did you mean %(name)s?", name=repr(near))
    return say("; known are: %(names)s", names=listed(names)) if names else say("; there are none")


def _advice(text: str) -> str:
    """An advice of the engine as a sentence; any other text as it is."""
    if text in ADVICE_TEXTS:
        return Sentence(text.replace("%", "%%"), {})
    for form, pattern in _ADVISED.items():
        if found := form.fullmatch(text):
            return Sentence(pattern, found.groupdict())
    return text


def _filled(cls: type[Explained], fields: dict[str, object]) -> tuple[str, dict[str, str]]:
    pattern, values = [], {}
    for literal, name, spec, conversion in Formatter().parse(cls.template()):
        pattern.append(literal.replace("%", "%%"))
        if name is not None:
            pattern.append(f"%({name})s")
            shown = _shown(fields.get(name, "?"), spec or "", conversion)
            values[name] = _advice(shown) if name == "advice" else shown
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
