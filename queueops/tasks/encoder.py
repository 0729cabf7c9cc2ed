"""Encoder of the project: stores values of its own classes, and makes them again. `QUEUEOPS["ENCODER"]` names it.

QueueOps itself writes and reads the JSON, so that the store, the console and composites read every value. An encoder
converts only values of the classes that it names.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, Protocol, get_origin

import msgspec

from queueops import conf
from queueops.conf.dotted_path import imported, refused
from queueops.errors import BadSetting

_CALLS = ("encode", "decode")
_PLACE = "QUEUEOPS['ENCODER']"
_CONTAINERS = (dict, list, tuple, set, frozenset)
"""JSON is written of values of their subclasses, too, without a question to an encoder."""


class Encoder(Protocol):
    """What `QUEUEOPS["ENCODER"]` names: a class without arguments. Its calls come from any thread, at the same time.

    `queueops.testing.conformance` tests these promises.
    """

    @property
    def types(self) -> tuple[type, ...]:
        """The classes whose values it converts, and their subclasses: none that QueueOps stores itself."""

    def encode(self, value: Any) -> Any:
        """A value that QueueOps stores: JSON, dates, UUIDs, decimals and so on, or a value of another of `types`.

        The same value always gives the same: unique ids and workflows compare it.
        """

    def decode(self, wanted: type, data: Any) -> Any:
        """Make the value again, as an instance of `wanted`, the class in the annotation. `data` is plain JSON.

        What is stored may be older than the code: raise ValueError for data that it cannot read.
        """


class ProjectEncoder:
    """The encoder of the settings. Its errors name it."""

    def __init__(self, path: str) -> None:
        """Raises BadSetting."""
        self.path = path
        self._encoder: Encoder = _made(path)
        self.types = self._encoder.types

    def encode(self, value: Any) -> Any:
        """Convert a value of `types`. Raises ValueError."""
        try:
            found = self._encoder.encode(value)
        except Exception as error:  # whatever the code of the project raises
            raise ValueError(f"The encoder {self.path} raised {type(error).__name__}: {error}") from error
        if type(found) is type(value):
            raise ValueError(f"The encoder {self.path} gave the same type back, and not what JSON has")
        return found

    def decode(self, wanted: type, data: Any) -> Any:
        """Make a value of `types`; of `Box[int]` a `Box`. Raises ValueError."""
        made = _class_of(wanted)
        try:
            found = self._encoder.decode(made, data)
        except Exception as error:  # whatever the code of the project raises
            raise ValueError(f"the encoder {self.path} raised {type(error).__name__}: {error}") from error
        if not isinstance(found, made):
            gave = type(found).__qualname__
            raise ValueError(f"the encoder {self.path} made {made.__qualname__} as an instance of {gave}")
        return found


def encoder_for(kind: type) -> ProjectEncoder | None:
    """The encoder of the settings, if it converts values of this class; else None. Raises BadSetting."""
    path = conf.current().encoder
    if not path:
        return None
    found = project_encoder(path)
    return found if issubclass(_class_of(kind), found.types) else None


@cache
def project_encoder(path: str) -> ProjectEncoder:
    """The encoder at a dotted path, made once in this process. Raises BadSetting."""
    return ProjectEncoder(path)


def _class_of(kind: type) -> type:
    return get_origin(kind) or kind


def _made(path: str) -> Encoder:
    make = imported(_PLACE, path, "no arguments")
    try:
        encoder: Any = make()
        problem = next(_problems(encoder), "")
    except BadSetting:
        raise
    except Exception as error:  # whatever the code of the project raises
        problem = f"a class that can be called without arguments ({type(error).__name__}: {error})"
    if problem:
        raise refused(_PLACE, path, problem)
    made: Encoder = encoder
    return made


def _problems(encoder: Any) -> Iterator[str]:
    """What is expected of an encoder that is not as `Encoder` says."""
    if missing := [name for name in _CALLS if not callable(getattr(encoder, name, None))]:
        yield f"a class with the methods {' and '.join(_CALLS)}; {' and '.join(missing)} cannot be called"
    types = getattr(encoder, "types", None)
    if not isinstance(types, tuple) or not types or not all(isinstance(each, type) for each in types):
        yield f"a class with a tuple of classes in types, and not {types!r}"
        return
    for each in types:
        if issubclass(each, _CONTAINERS) or not isinstance(msgspec.inspect.type_info(each), msgspec.inspect.CustomType):
            yield f"an encoder of other classes: QueueOps itself stores {each.__qualname__}, so leave it out of types"
