"""Record fields of tasks with follow-ups, and of the tasks that follow."""

from queueops.model.fields import Field

FIELDS = {
    "fd": Field("follow_ups_dead", "whole"),
    "fm": Field("follow_ups_pushed"),
    "fu": Field("follow_ups", "bytes", at_success=True),
    "og": Field("follows_uid", "whole"),
    "oi": Field("follows"),
    "oo": Field("follows_outcome"),
    "op": Field("follows_pool"),
}
