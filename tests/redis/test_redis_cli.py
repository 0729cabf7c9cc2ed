"""Commands that an operator copies act on the server of the URL, and hold no password."""

from __future__ import annotations

from queueops.redis.redis_cli import addressed


def test_a_command_names_the_server_of_the_url_without_its_password() -> None:
    for url, expected in (
        ("redis://127.0.0.1:6379/0", "redis-cli INFO server"),
        ("redis://127.0.0.1:16390/0", "redis-cli -h 127.0.0.1 -p 16390 INFO server"),
        ("redis://store", "redis-cli -h store -p 6379 INFO server"),
        ("rediss://:hunter2@[::1]:7/1?ssl_cert_reqs=none", "redis-cli -h ::1 -p 7 --tls --askpass INFO server"),
        ("valkeys://ann:hunter2@store", "redis-cli -h store -p 6379 --tls --user ann --askpass INFO server"),
        ("unix:///run/a%20b.sock?db=1", "redis-cli -s '/run/a b.sock' INFO server"),
        ("embedded:/var/shop", "manage.py embedded --data /var/shop ask INFO server"),
        ("redis+sentinel://:hunter2@a,b:7/main", "redis-cli -h HOST -p PORT --askpass INFO server"),
        ("rediss+cluster://a:1,b:2", "redis-cli -h HOST -p PORT --tls INFO server"),
    ):
        assert addressed("redis-cli INFO server", url) == expected, url
    assert addressed("redis-cli --cluster fix a:1", "redis://store") == "redis-cli --cluster fix a:1"
