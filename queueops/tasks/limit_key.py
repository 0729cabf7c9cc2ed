"""Keys of limits: `limit_key=` derives a text from the arguments of a call; calls with the same one share the limit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any
from uuid import UUID

from queueops.errors import BadArguments, QueueOpsError
from queueops.tasks.signature import ArgumentSpec
from queueops.tasks.unique_id import UniqueId, fit

LimitBy = str | Callable[..., object]


class LimitKey(UniqueId):
    """Makes the key of a call by a template, or by a function of the arguments that it names."""

    __slots__ = ()
    option = "limit_key"
    advice = "use .si()"

    def of(self, plan: ArgumentSpec, args: Sequence[Any], kwargs: Mapping[str, Any], *, after: bool) -> str | None:
        """The key of a call; None if the function returns None. Raises BadArguments and BadOption.

        The key of a function of one argument has that name: `user_id=42`.
        """
        try:
            found = self.found(plan, args, kwargs, after=after)
        except QueueOpsError:
            raise
        except Exception as error:  # whatever a project's function raises
            reason = f"its limit_key raised {type(error).__name__}: {error}."
            raise BadArguments(name=plan.name, reason=reason) from error
        if found is None:
            return None
        if isinstance(found, bool) or not isinstance(found, (str, int, UUID)) or found == "":
            reason = f"its limit_key returned {found!r}. Return a text, a whole number or a UUID, or None for no limit."
            raise BadArguments(name=plan.name, reason=reason)
        is_of_one = not isinstance(self._unique, str) and len(self._names) == 1
        return fit(f"{self._names[0]}={found}" if is_of_one else str(found))
