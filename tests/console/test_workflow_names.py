"""The names and tags that the filter of the page "Workflows" offers."""

from __future__ import annotations

import re

from django.test import Client

from tests.workflows.test_runs import add, approval


def test_the_filter_offers_the_names_of_workflows_alone(namespace: str, operator: Client) -> None:
    add.push(1, 1)
    approval.start(60.0)
    shown = operator.get("/ops/workflows/").content.decode()
    offered = re.findall(r'<option value="([^"]+)">', shown[: shown.index("known-tags")])
    assert ("wf.approval" in offered, "wf.add" in offered) == (True, False)


def test_the_filter_offers_the_tags_of_workflows_alone(namespace: str, operator: Client) -> None:
    add.using(tags=["plain"]).push(1, 1)
    for tags in (["red", "blue"], ["red"]):
        approval.using(tags=tags).start(60.0)
    shown = operator.get("/ops/workflows/").content.decode()
    listed = shown[shown.index('<datalist id="known-tags">') :].partition("</datalist>")[0]
    assert re.findall(r'<option value="([^"]+)">', listed) == ["blue", "red"]
