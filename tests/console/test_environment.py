"""The mark of the environment: in the head, in the title and in each confirmation, by the setting."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from tests.console.standin import World

pytestmark = pytest.mark.django_db
MARK = '<span class="environment environment-red">pro &lt;d&gt;</span>'


def test_the_environment_is_marked_in_head_title_and_confirmation(
    world: World, administrator: Client, settings: Any
) -> None:
    assert 'class="environment' not in administrator.get("/ops/").content.decode()
    settings.QUEUEOPS = settings.QUEUEOPS | {"ENVIRONMENT": {"name": "pro <d>", "color": "red"}}
    page = administrator.get("/ops/").content.decode()
    assert "<title>pro &lt;d&gt; · " in page
    assert page.count(MARK) == 1
    question = administrator.post("/ops/tasks/task-1/_interrupt", {"pool": "default"}).content.decode()
    assert question.count(MARK) == 2
