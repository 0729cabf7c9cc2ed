"""The dashboard of Grafana and the alert rules of Prometheus: each metric and label that they name is exposed."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from queueops.metrics.exposition import expose
from tests.kernel.desk import Desk
from tests.support.tasks_for_tests import add

FILES = Path(__file__).parents[2] / "docs/monitoring"
METRIC = re.compile(r"\b(queueops_\w+)(?:\{([^}]*)\})?")


@pytest.fixture
def exposed(desk: Desk, settings: Any) -> dict[str, set[str]]:
    """The labels of each metric of a pool with work."""
    desk.exchange(metrics={"ok|add": 3, "err|add": 1, "ms|add": 800})  # what a worker tells of its attempts
    add.push(2)
    found: dict[str, set[str]] = {}
    exposition = expose("text/plain", "", open_to_all=True).body.decode()
    for family in text_string_to_metric_families(exposition):
        for sample in family.samples:
            found.setdefault(sample.name, set()).update(sample.labels)
    return found


def test_the_files_name_only_metrics_and_labels_that_are_exposed(exposed: dict[str, set[str]]) -> None:
    board = json.loads((FILES / "grafana-dashboard.json").read_text())
    rules = yaml.safe_load((FILES / "prometheus-alerts.yml").read_text())["groups"][0]["rules"]
    expressions = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    assert len(expressions) >= len(board["panels"]) > 10
    expressions += [rule["expr"] for rule in rules]
    for expression in expressions:
        found = METRIC.findall(expression)
        assert found, expression
        for name, matchers in found:
            labels = set(re.findall(r"(\w+)=", matchers))
            assert labels <= exposed.get(name, {f"no metric {name}"} - labels), expression
            assert name in exposed, expression
        grouped = {label for group in re.findall(r"\bby \(([\w, ]+)\)", expression) for label in group.split(", ")}
        assert grouped <= exposed[found[0][0]], expression
    places = [(panel["gridPos"]["x"] + panel["gridPos"]["w"], panel["title"]) for panel in board["panels"]]
    assert max(places)[0] <= 24
    for rule in rules:
        assert {"alert", "expr", "for", "labels", "annotations"} == set(rule)
        told = re.findall(r"\$labels\.(\w+)", " ".join(rule["annotations"].values()))
        assert set(told) <= exposed[METRIC.findall(rule["expr"])[0][0]]


def test_every_name_follows_the_conventions_of_prometheus(exposed: dict[str, set[str]]) -> None:
    units = ("_seconds", "_ratio", "_per_second", "_info")
    of_time = [name for name in exposed if re.search(r"wait|run|oldest", name)]
    assert of_time
    assert all(name.endswith(units) for name in of_time)
    assert not [name for name in exposed if re.search(r"_(ms|percent|minutes|total|count)$", name)]
    assert all(re.fullmatch(r"queueops_[a-z0-9_]+", name) for name in exposed)
