"""Failures: the stored error of an exception, with a bounded traceback and a fingerprint that groups equal errors.

Errors are stored as text and never rebuilt as exceptions. Two errors have the same fingerprint when their type, their
innermost application frames and their messages agree. Numbers, ids and quoted words in messages are ignored.
"""

from __future__ import annotations

import asyncio.taskgroups
import contextlib
import re
import site
import sysconfig
import traceback
from collections.abc import Iterator
from hashlib import sha1
from pathlib import Path
from types import TracebackType

import asgiref.sync
import msgspec

from queueops.conf import redactor
from queueops.model.task_error import StoredError

MAX_NAME = 100
MAX_TITLE = 200
MAX_MESSAGE = 2_000
MAX_TRACEBACK = 20_000
WIDE = 100_000
"""Characters at each end that are masked before a cut. Far more than are kept: no secret may begin between them."""
_FRAMES = 3
_ENGINE = str(Path(__file__).resolve().parent.parent) + "/"
_FOREIGN = (
    _ENGINE,
    *{f"{path}/" for path in (*site.getsitepackages(), sysconfig.get_path("stdlib"), sysconfig.get_path("purelib"))},
    "<",
)
_KEEP_ERRORS = {asgiref.sync.__file__, asyncio.taskgroups.__file__, contextlib.__file__}
_VARIABLE = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
    r"|0x[0-9a-f]+|\d+(?:\.\d+)?|'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"",
    re.IGNORECASE,
)


def describe(error: BaseException) -> StoredError:
    """Build the stored error of an exception. Bounded; never raises, whatever the exception's ``__str__`` does."""
    kind = type_name(error)
    message = middle_cut(_text_of(error), MAX_MESSAGE)
    frames = list(_application_frames(error.__traceback__))[-_FRAMES:]
    trace = middle_cut(_formatted(error), MAX_TRACEBACK)
    return StoredError(_fingerprint(kind, message, frames), kind, message, trace, _code_of(error))


def _code_of(error: BaseException) -> int | msgspec.UnsetType:
    """The attribute `response_code` of an exception. A property is not called: it is code of the application."""
    code = vars(error).get("response_code")
    return code if type(code) is int and 0 <= code < 1000 else msgspec.UNSET


def free_library_frames(error: BaseException | None) -> None:
    """Clear the ended frames of some libraries in the tracebacks of an error, of those before it and those in it.

    Each of them keeps an error in a variable. Both would wait for the garbage collector, with the task's variables.
    """
    seen: set[int] = set()
    errors: list[BaseException | None] = [error]
    while errors:
        each = errors.pop()
        if each is None or id(each) in seen:
            continue
        seen.add(id(each))
        for frame, _line in traceback.walk_tb(each.__traceback__):
            if frame.f_code.co_filename in _KEEP_ERRORS:
                with contextlib.suppress(RuntimeError):  # it still runs
                    frame.clear()
        errors += [each.__context__, each.__cause__, *(each.exceptions if isinstance(each, BaseExceptionGroup) else ())]


def plain(kind: str, message: str) -> StoredError:
    """Build a stored error without a Python exception, such as for a worker that died."""
    return StoredError(_fingerprint(kind, message, []), kind, middle_cut(message, MAX_MESSAGE), "")


def title_of(error: StoredError) -> str:
    """The error in one line, without secrets, for the log and the list of errors."""
    message = redactor().text(error.message).strip()
    first = message.splitlines()[0] if message else ""
    return f"{error.type}: {first}"[:MAX_TITLE] if first else error.type[:MAX_TITLE]


def type_name(error: BaseException) -> str:
    """The class of an error, with its module unless it is a built-in."""
    cls = type(error)
    name = cls.__qualname__ if cls.__module__ == "builtins" else f"{cls.__module__}.{cls.__qualname__}"
    return name[:MAX_NAME]


def middle_cut(text: str, limit: int) -> str:
    """Keep both ends of a text that is too long, in at most about ``limit`` bytes, as valid UTF-8.

    The parts are masked before the cut, which may remove the name that marks a value as secret.
    """
    data = text.encode("utf-8", "backslashreplace")
    if len(data) <= limit:
        return data.decode()
    half = (limit - 40) // 2
    head, tail = (redactor().text(end).encode("utf-8", "backslashreplace") for end in (text[:WIDE], text[-WIDE:]))
    left = f"\n... {len(data) - 2 * half} bytes left out ...\n"
    return head[:half].decode("utf-8", "ignore") + left + tail[-half:].decode("utf-8", "ignore")


def _text_of(error: BaseException) -> str:
    try:
        return str(error)
    except Exception as broken:  # an exception's own __str__ is the application's code
        return f"<its text can't be read: {type(broken).__name__}>"


def _formatted(error: BaseException) -> str:
    try:
        return "".join(traceback.format_exception(type(error), error, _outside_engine(error.__traceback__)))
    except Exception as broken:  # formatting calls __str__ and __repr__ of the application, too
        return f"<the traceback can't be formatted: {type(broken).__name__}>"


def _outside_engine(trace: TracebackType | None) -> TracebackType | None:
    """The traceback without the engine's own frames at its start, unless it has no others."""
    inner = trace
    while inner is not None and inner.tb_frame.f_code.co_filename.startswith(_ENGINE):
        inner = inner.tb_next
    return inner or trace


def _application_frames(trace: TracebackType | None) -> Iterator[str]:
    for frame, _line in traceback.walk_tb(trace):
        code = frame.f_code
        if not code.co_filename.startswith(_FOREIGN):
            yield f"{Path(code.co_filename).name}:{code.co_qualname}"


def _fingerprint(kind: str, message: str, frames: list[str]) -> str:
    text = "\n".join((kind, _VARIABLE.sub("#", message), *frames))
    return sha1(text.encode(), usedforsecurity=False).hexdigest()[:16]
