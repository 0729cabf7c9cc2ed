"""Django's admin: grants in pools. A project without the admin creates them with the model."""

from __future__ import annotations

from django.contrib import admin

from console.models import PoolGrant


@admin.register(PoolGrant)
class PoolGrantAdmin(admin.ModelAdmin):  # type: ignore[type-arg]  # it takes no argument at run time
    """The grants, by group and pool."""

    list_display = ("group", "store", "pool", "level")
    list_filter = ("group", "store", "level")
