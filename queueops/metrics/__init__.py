"""Metrics: the figures of all pools in the formats of Prometheus. Needs the extra ``metrics`` (prometheus-client)."""

from queueops.metrics.exposition import metrics

__all__ = ["metrics"]
