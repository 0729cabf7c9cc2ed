"""Django's admin: grants in pools. A project without the admin creates them with the model."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from console.models import PoolGrant
from queueops import conf


class GrantForm(forms.ModelForm):  # type: ignore[type-arg]  # it takes no argument at run time
    """A grant, whose store is one of the settings, or the one that it has."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        if "store" in self.fields:  # not for a user who may only look
            of_model = self.fields["store"]
            stores = dict.fromkeys(("", *conf.store_names(), self.instance.store))
            self.fields["store"] = forms.ChoiceField(
                label=of_model.label, choices=[(name, store_label(name)) for name in stores], required=False
            )


@admin.register(PoolGrant)
class PoolGrantAdmin(admin.ModelAdmin):  # type: ignore[type-arg]  # it takes no argument at run time
    """The grants, by group and pool."""

    form = GrantForm
    list_display = ("group", "in_store", "pool", "level")
    list_filter = ("group", "store", "level")

    @admin.display(description=gettext_lazy("store"), ordering="store")
    def in_store(self, grant: PoolGrant) -> str:
        """The store of a grant; it is marked if the settings have no such store."""
        return store_label(grant.store)


def store_label(name: str) -> str:
    """A store by its name in STORES, as the admin shows it."""
    if not name:
        return _("the project's own")
    return name if name in conf.store_names() else _("%(name)s (not in STORES)") % {"name": name}
