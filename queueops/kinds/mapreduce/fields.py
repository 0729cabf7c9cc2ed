"""Record fields of map-reduce tasks and their chunks."""

from queueops.model.fields import Field

FIELDS = {
    "bm": Field("map_begun"),
    "ch": Field("has_chunks", "flag"),
    "cl": Field("chunk_limit", "whole"),
    "cn": Field("chunks", "whole"),
    "cq": Field("chunk_rate"),
    "mb": Field("map_retry"),
    "mr": Field("map_retries"),
    "mt": Field("map_timeout"),
    "mw": Field("map_written"),
    "mx": Field("max_parallel", "whole"),
    "oc": Field("on_chunk_failure"),
    "rb": Field("reduce_retry"),
    "rd": Field("chunks_to_redo"),
    "rr": Field("reduce_retries", "whole"),
    "rt": Field("reduce_timeout", "whole"),
    "rw": Field("chunks_redone_by"),
    "un": Field("unable_workers", "flag"),
    "xd": Field("chunks_dropped", "whole"),
    "xm": Field("longest_chunk_ms", "whole"),
    "xn": Field("longest_chunk", "whole"),
    "xp": Field("chunk_retry"),
    "xr": Field("chunk_retries", "whole"),
    "xt": Field("chunk_timeout", "whole"),
    "xw": Field("chunks_per_worker", "whole"),
    # Of the record of a chunk.
    "dr": Field("dropped", "flag"),
    "q": Field("ready_since", "whole"),
    "tw": Field("has_second_run", "flag"),
}
