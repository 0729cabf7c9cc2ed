"""Decisions of a task about its attempt: the exceptions `RetryLater` and `Permanent`.

A task's own code raises them. They are not an `Exception`, so that its own `except Exception` does not swallow them.
"""

from __future__ import annotations

from datetime import timedelta
from types import TracebackType
from typing import Any

from queueops.errors import BadOption, Explained
from queueops.model.durations import to_ms


class Decision(Explained):
    """The attempt has failed, and the task decides what follows.

    ``error`` is the error of the attempt: an exception, or a text. A text is the message of the decision itself.
    """

    error: BaseException | str | None

    def __init__(self, error: BaseException | str | None, **fields: Any) -> None:
        super().__init__(error if isinstance(error, str) else None, error=error, **fields)

    def as_raised(self) -> BaseException:
        """The exception that is the error of the attempt, as if the task had raised it in place of this decision.

        It gets the traceback and the causes that it would have then. A further call changes nothing.
        """
        error = self.__cause__ if self.error is None else self.error
        if not isinstance(error, BaseException):
            return self
        handled = self.__context__
        if error.__traceback__ is None and handled is not None and handled is not error:  # it was made for the decision
            _set(error, "__context__", handled)
        if self.__suppress_context__ and self.__cause__ is not error:  # the decision was raised `from` another one
            _set(error, "__cause__", self.__cause__)
        return error.with_traceback(_joined(self.__traceback__, error.__traceback__))


class RetryLater(Decision):
    """The task asked for its next attempt in {seconds} s.

    A task raises it. This attempt has failed, and the next one starts after `seconds` (a number or a `timedelta`). The
    task's `retry` and `retry_on` do not matter. It counts as an attempt: after the last one the task fails with
    `error`, an exception or a text. Without `error` it fails with the exception that `raise ... from` names, else with
    this one.

    Raises BadOption. Not an `Exception`, so that a task's own `except Exception` does not swallow it.
    """

    seconds: float

    def __init__(self, seconds: float | timedelta, error: BaseException | str | None = None) -> None:
        wait_ms = to_ms("seconds", seconds)
        super().__init__(None if error is None else _checked(error), seconds=wait_ms / 1000)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.seconds, self.error)


class Permanent(Decision):
    """The task failed with {type}, and asked for no further attempt.

    A task raises it, and fails at once, whatever its `retries`. `error` is an exception or a text. What is stored of an
    exception is the same as if the task had raised it. A text is the message of this exception.

    Raises BadOption. Not an `Exception`, so that a task's own `except Exception` does not swallow it.
    """

    type: str

    def __init__(self, error: BaseException | str) -> None:
        super().__init__(_checked(error), type=type(error).__name__)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.error,)


def _checked(error: object) -> BaseException | str:
    if not isinstance(error, BaseException | str):
        expected = 'an exception (not its class), such as ValueError("no such order"), or a text'
        raise BadOption(name="error", value=error, expected=expected)
    return error


def _joined(outer: TracebackType | None, inner: TracebackType | None) -> TracebackType | None:
    """The traceback of an error that went on through the frames of a decision.

    ``outer`` is the decision's, ``inner`` the error's own. It begins in the frame that caught the error.
    """
    passed: list[TracebackType] = []
    while outer is not None and (inner is None or outer.tb_frame is not inner.tb_frame):
        passed.append(outer)
        outer = outer.tb_next
    for entry in reversed(passed):  # copies: threads may raise one and the same decision
        inner = TracebackType(inner, entry.tb_frame, entry.tb_lasti, entry.tb_lineno or 0)  # made code has no lines
    return inner


_set = BaseException.__setattr__
"""Sets an attribute also of an exception that refuses it, such as a frozen data class."""
