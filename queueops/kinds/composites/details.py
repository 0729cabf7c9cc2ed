"""Details of a composite: what follows when a part of it fails."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from queueops.inspect.kind_details import KindDetails
from queueops.redis.query_replies import Detail


class CompositeDetails(KindDetails):
    """The policy of a chain, a group or an iterator."""

    def of_task(self, detail: Detail, record: Mapping[str, str], state: str) -> dict[str, Any]:
        """What follows when a part fails; a chain ends with its first failure."""
        return {"on_failure": record.get("of", "fail")} if record.get("k") in ("chain", "group", "iterator") else {}


DETAILS = CompositeDetails()
