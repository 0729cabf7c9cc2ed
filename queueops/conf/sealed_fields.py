"""Fields of models whose values are encrypted in the database if the first entry of QUEUEOPS['ENCRYPTION'] is a key."""

from __future__ import annotations

import json
from typing import Any

from django.db import models

from queueops import conf

SEALED = "sealed"
"""The only key of an encrypted object."""


class SealedJSON(models.JSONField):
    """Objects of JSON. One that no key opens stays as it is stored."""

    def deconstruct(self) -> Any:
        """As JSONField: migrations do not differ."""
        name, _, args, kwargs = super().deconstruct()
        return name, "django.db.models.JSONField", args, kwargs

    def get_db_prep_value(self, value: Any, connection: Any, prepared: bool = False) -> Any:
        """Encrypt an object that has something."""
        ring = conf.keyring_of_databases()
        if ring is not None and ring.encrypts and isinstance(value, dict) and value and value.keys() != {SEALED}:
            value = {SEALED: ring.seal_text(json.dumps(value, cls=self.encoder))}
        return super().get_db_prep_value(value, connection, prepared)

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> Any:
        """Decrypt."""
        value, ring = super().from_db_value(value, expression, connection), conf.keyring_of_databases()
        if ring is None or not isinstance(value, dict) or value.keys() != {SEALED}:
            return value
        try:
            return json.loads(ring.open(value[SEALED].encode()))
        except ValueError:
            return value
