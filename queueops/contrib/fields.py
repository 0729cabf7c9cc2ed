"""Record fields of Django's own tasks."""

from queueops.model.fields import Field

FIELDS = {
    "ba": Field("backend", in_lease=True),
    "ra": Field("run_after", in_lease=True),
}
