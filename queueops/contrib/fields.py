"""Record fields of Django's own tasks."""

from queueops.model.fields import Field

FIELDS = {
    "ba": Field("backend"),
    "ra": Field("run_after"),
}
