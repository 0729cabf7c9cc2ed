"""Record fields of jobs."""

from queueops.model.fields import Field

FIELDS = {
    "cw": Field("circuit"),
    "fl": Field("file_before"),
    "fp": Field("job_fingerprint"),
    "fx": Field("file_deleted", "whole"),
    "ld": Field("lane_settings"),
}
