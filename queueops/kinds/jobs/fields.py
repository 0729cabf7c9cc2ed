"""Record fields of jobs."""

from queueops.model.fields import Field

FIELDS = {
    "fl": Field("file_before"),
    "fx": Field("file_deleted", "whole"),
}
