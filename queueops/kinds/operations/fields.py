"""Record fields of bulk actions, and of the tasks that they change."""

from queueops.model.fields import Field

FIELDS = {
    "jb": Field("walk_begun", "whole"),
    "jc": Field("is_cut", "flag"),
    "jd": Field("first_refusal"),
    "jh": Field("held_since", "whole"),
    "ji": Field("walk_index", "whole"),
    "jk": Field("changed", "whole"),
    "jl": Field("looked_at", "whole"),
    "jm": Field("walk_member"),
    "jn": Field("seen", "whole"),
    "jr": Field("refused", "whole"),
    "js": Field("walk_score"),
    "jv": Field("rate", "real"),
    "jw": Field("rate_since", "whole"),
    "jx": Field("rate_seen", "whole"),
    "ow": Field("value_before"),
}
