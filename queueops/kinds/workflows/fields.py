"""Record fields of runs, and of the tasks for whose ends they wait."""

from queueops.model.fields import Field

FIELDS = {
    "va": Field("asked_to_end", "flag"),
    "vb": Field("blocked_since", "whole"),
    "vc": Field("blocked_times", "whole"),
    "vd": Field("given_up", "flag"),
    "ve": Field("continued_at", "whole"),
    "vf": Field("step_fence", "whole"),
    "vh": Field("step_code"),
    "vi": Field("instance"),
    "vj": Field("on_parent_end"),
    "vk": Field("call_token"),
    "vl": Field("late_events", "whole"),
    "vn": Field("command", "whole"),
    "vo": Field("origin"),
    "vp": Field("previous_run"),
    "vq": Field("custom_status", "bytes"),
    "vr": Field("waiting_run"),
    "vs": Field("suspended_since", "whole"),
    "vt": Field("waiting_pool"),
    "vw": Field("waits_at"),
    "vx": Field("next_run"),
    "vy": Field("failed_code_tasks"),
    "vz": Field("first_run"),
}
