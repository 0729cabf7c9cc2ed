"""Details of a callback in a terminal: what it is called."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from queueops.inspect.kind_details import KindDetails


class JobDetails(KindDetails):
    """The noun of callbacks."""

    nouns: ClassVar[Mapping[str, tuple[str, str]]] = {"callback": ("callback", "callbacks")}


DETAILS = JobDetails()
