"""Push form: a field for each parameter of a task, and the options of the push."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from console.ui.forms import LONGEST, JsonField, refuse_mask
from queueops.inspect import PushParameter, TaskDetail
from queueops.model.ids import ID, ID_LENGTH, NAME, NAME_LENGTH

PREFIX = "p-"
LEFT_OUT: Any = object()
"""The value of an argument that is not given."""
ADVICE: dict[str, tuple[type, Any]] = {
    "more": (list, _('Write a JSON list, such as [42, "a"].')),
    "rest": (dict, _('Write a JSON object, such as {"key": 1}.')),
}


class PushForm(forms.Form):
    """The arguments and the options of one push. An empty field leaves its argument out."""

    use_required_attribute = False
    lane = forms.RegexField(rf"^{NAME.pattern}\Z", label=_("Lane"), max_length=NAME_LENGTH, required=False)
    delay = forms.FloatField(
        label=_("Delay in seconds"), min_value=0, max_value=LONGEST.total_seconds(), required=False
    )
    priority = forms.IntegerField(label=_("Priority"), min_value=-100, max_value=100, required=False)
    id = forms.RegexField(rf"^{ID.pattern}\Z", max_length=ID_LENGTH, required=False, widget=forms.HiddenInput)

    def __init__(self, parameters: Sequence[PushParameter], *values: Any, **named: Any) -> None:
        """`parameters` are those of the task."""
        super().__init__(*values, **named)
        self.parameters = {PREFIX + each.name: each for each in parameters}
        for name, parameter in self.parameters.items():
            self.fields[name] = _field(parameter)
        self.order_fields([*self.parameters, *self.fields])

    @property
    def arguments(self) -> list[tuple[PushParameter, forms.BoundField]]:
        """Each parameter with its field."""
        return [(parameter, self[name]) for name, parameter in self.parameters.items()]

    @property
    def settings(self) -> list[forms.BoundField]:
        """The fields of the options."""
        return [self[name] for name in ("lane", "delay", "priority")]

    @property
    def call(self) -> tuple[list[Any], dict[str, Any]]:
        """The positional and the named arguments, as JSON values."""
        args: list[Any] = []
        kwargs: dict[str, Any] = {}
        positional = self._has_more(self.cleaned_data)
        for name, parameter in self.parameters.items():
            value = self.cleaned_data.get(name, LEFT_OUT)
            if value is LEFT_OUT:
                continue
            if parameter.sort == "more":
                args += value
            elif parameter.sort == "rest":
                kwargs |= value
            elif parameter.is_positional or (positional and not parameter.is_named):
                args.append(value)
            else:
                kwargs[parameter.name] = value
        return args, kwargs

    @property
    def options(self) -> dict[str, Any]:
        """The options of the push that were given."""
        values = {name: self.cleaned_data.get(name) for name in ("lane", "delay", "priority")}
        return {name: value for name, value in values.items() if value not in (None, "")}

    def clean(self) -> dict[str, Any]:
        """Further positional arguments need all those before them."""
        values = super().clean() or {}
        if self._has_more(values) and any(
            values.get(name) is LEFT_OUT for name, each in self.parameters.items() if not each.is_named
        ):
            self.add_error(self._of("more"), _("Give all arguments before it, too."))
        return values

    def refuse(self, reason: str) -> None:
        """Show the engine's refusal at the field that it names first, or above all."""
        fields = {each.name: name for name, each in self.parameters.items()} | {n: n for n in ("lane", "priority")}
        named = next((fields[word] for word in re.findall(r"\w+", reason) if word in fields), None)
        self.add_error(named, reason)

    def _has_more(self, values: dict[str, Any]) -> bool:
        return values.get(self._of("more"), LEFT_OUT) is not LEFT_OUT

    def _of(self, sort: str) -> str:
        return next((name for name, each in self.parameters.items() if each.sort == sort), "")


class ArgumentField(forms.CharField):
    """The value of one argument: a text as it is, anything else as JSON. Texts need no quotes where JSON fails."""

    def __init__(self, parameter: PushParameter) -> None:
        self.parameter = parameter
        needed = parameter.required and parameter.annotation != "str"
        words = {"required": _("%(name)s must be given.") % {"name": parameter.name}}
        super().__init__(label=parameter.name, required=needed, max_length=1_000_000, strip=False, error_messages=words)

    def clean(self, value: Any) -> Any:
        """Parse the text."""
        text = super().clean(value)
        if not text:
            return "" if self.parameter.required and self.parameter.is_text else LEFT_OUT
        refuse_mask(text)
        if self.parameter.is_text:
            return None if text == "null" and self.parameter.takes_none else text
        try:
            return json.loads(text)
        except ValueError:
            return text
        except RecursionError as error:
            raise forms.ValidationError(_("This is not JSON: %(error)s") % {"error": error}) from error


class FurtherField(JsonField):
    """The further arguments, of `*args` or `**kwargs`."""

    def clean(self, value: Any) -> Any:
        """Parse the text, if there is one."""
        return super().clean(value) if value else LEFT_OUT


def copied(parameters: Sequence[PushParameter], task: TaskDetail) -> dict[str, str]:
    """The arguments of a task as the form's initial values; secrets stay masked, and have to be typed anew."""
    try:
        args, kwargs = json.loads(task.own_args_json)
    except (ValueError, TypeError):  # it is too long, or broken: the form is then empty
        return {}
    usual = [each for each in parameters if not each.sort and not each.is_named][int(task.first_is_result) :]
    values = dict(zip((each.name for each in usual), args, strict=False)) | kwargs
    known = {each.name: each for each in parameters if not each.sort}
    found = {PREFIX + name: _text(known[name], value) for name, value in values.items() if name in known}
    others = {name: value for name, value in kwargs.items() if name not in known}
    for each in parameters:
        left = args[len(usual) :] if each.sort == "more" else others if each.sort == "rest" else None
        if left:
            found[PREFIX + each.name] = json.dumps(left, ensure_ascii=False)
    return found | {"lane": task.lane, "priority": str(task.priority or "")}


def _field(parameter: PushParameter) -> forms.Field:
    if parameter.sort:
        kind, advice = ADVICE[parameter.sort]
        return FurtherField(parameter.name, kind, advice)
    return ArgumentField(parameter)


def _text(parameter: PushParameter, value: Any) -> str:
    return value if parameter.is_text and isinstance(value, str) else json.dumps(value, ensure_ascii=False)
