"""Database model of the API: the tokens of its clients."""

from __future__ import annotations

from django.db import models


class ApiToken(models.Model):
    """The token of a client. The table has its digest; the token itself is shown once, when it is made.

    A revoked token stays, so that the audit log can be understood. Its name may be given again.
    """

    name = models.CharField(max_length=100)
    valid_name = models.CharField(max_length=100, null=True, unique=True)  # the name of a valid token; null: revoked
    digest = models.CharField(max_length=64, unique=True)  # SHA-256 in hexadecimal
    scopes = models.JSONField(default=list)
    rate = models.FloatField(null=True)  # requests a second
    body_limit = models.PositiveIntegerField(null=True)  # bytes
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.CharField(max_length=150)
    used_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)
    revoked_by = models.CharField(max_length=150, blank=True)

    class Meta:
        """Django's default permissions are not used."""

        default_permissions = ()
        ordering = ("name", "-pk")

    def __str__(self) -> str:
        return self.name
