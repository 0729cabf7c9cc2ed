"""The server of a run of tests is the one that was chosen, or the run says which one it did not find."""

from __future__ import annotations

import pytest
import redis

from tests.support import servers


def test_the_store_of_this_run_is_the_chosen_server(redis_client: redis.Redis) -> None:
    info = redis_client.info("server")
    if servers.CHOSEN == servers.EMBEDDED:
        assert "valkey_version" in info
    else:
        assert f"redis-{info['redis_version']}".startswith(f"{servers.CHOSEN}.")
        assert "valkey_version" not in info


def test_a_server_that_is_not_here_is_named_beside_those_that_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(servers, "CHOSEN", "redis-5.0")
    monkeypatch.setattr(servers, "_programs", lambda: iter(["/bin/echo"]))
    with pytest.raises(servers.ServerMissing, match=r"'redis-5.0', and no such server is .*/bin/echo is no Redis"):
        servers.use_chosen()
