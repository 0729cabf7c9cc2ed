"""Connection factory: makes a redis-py client from the URL in the settings.

The client never repeats a command automatically, because it cannot know whether a lost call was executed. The broker
repeats atomic, idempotent calls instead.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, unquote, urlsplit

import redis
from redis.backoff import NoBackoff
from redis.cluster import ClusterNode, RedisCluster
from redis.connection import parse_url
from redis.retry import Retry
from redis.sentinel import MasterNotFoundError, Sentinel

from queueops.errors import BadSetting, BadUrl
from queueops.model.store_url import masked
from queueops.redis import embedded
from queueops.redis.connections import DRIVER
from queueops.redis.embedded.trusted_socket import TrustedConnection
from queueops.redis.servers import ASK_S, Cluster, OneServer
from queueops.redis.watchful import watch

OPTIONS: dict[str, Any] = {
    "decode_responses": False,
    "protocol": 2,  # one handshake less per connection, and the fastest replies of hiredis
    "socket_connect_timeout": 3.0,
    "socket_timeout": 10.0,  # longer than the longest batch of a script; a blocking call passes its own
    "socket_keepalive": True,
    "health_check_interval": 0,
    **DRIVER,
}
PORT, SENTINEL_PORT = 6379, 26379


def connect(url: str, **options: Any) -> redis.Redis:
    """Make a client for the URL, with its own connection pool; ``options`` of redis-py override OPTIONS.

    It does not contact the server, except for a cluster, whose slot map is read at once. The first command starts an
    `embedded:` server that is not running. Raises BadUrl.

    A caller that blocks longer than 10 s in one command passes `socket_timeout`.
    """
    known = _as_redis(url)
    scheme, _, rest = known.partition(":")
    chosen = OPTIONS | {"retry": Retry(NoBackoff(), 0)} | options
    if scheme == "embedded":
        return _embedded(Path(rest.removeprefix("//")), chosen)
    try:
        if scheme in ("redis", "rediss"):
            _database(urlsplit(known).path)
            return redis.Redis.from_url(known, **chosen)
        if scheme == "unix":
            return redis.Redis.from_url(known, **_for_socket(chosen))
        if scheme in ("redis+sentinel", "rediss+sentinel"):
            return _sentinel(urlsplit(known), chosen)
        if scheme in ("redis+cluster", "rediss+cluster"):
            return _cluster(urlsplit(known), chosen)
    except ValueError as error:
        raise BadUrl(url=masked(url), reason=_without_value(error)) from error
    raise BadUrl(url=masked(url), reason=f"there is no scheme {scheme!r}")


def servers(url: str, **options: Any) -> OneServer | Cluster:
    """The servers of a URL, each with its own client as `connect` makes it. Does not connect. Raises BadUrl."""
    known = _as_redis(url)
    if not known.partition(":")[0].endswith("+cluster"):
        return OneServer(connect(url, **options))
    try:
        hosts, own = _read_cluster(urlsplit(known))
    except ValueError as error:
        raise BadUrl(url=masked(url), reason=_without_value(error)) from error
    return Cluster(hosts, OPTIONS | {"retry": Retry(NoBackoff(), 0)} | options | own)


def _as_redis(url: str) -> str:
    """Rewrite a ``valkey:`` URL for redis-py; both servers use the same protocol."""
    return f"redis{url.removeprefix('valkey')}" if url.startswith("valkey") else url


def check(url: str, **options: Any) -> None:
    """Validate the URL and the options as `connect` does, without a connection. Raises BadUrl and BadSetting."""
    _check_files(options)
    known = _as_redis(url)
    try:
        if "db" in options and known.startswith(("redis:", "rediss:")) and urlsplit(known).path.strip("/"):
            expected = "left out: the URL names the database"
            raise BadSetting(place="QUEUEOPS['CONNECT']['db']", value=str(options["db"]), expected=expected)
        if known.partition(":")[0].endswith("+cluster"):
            _read_cluster(urlsplit(known))
            return
        with connect(url, **options) as client:
            client.connection_pool.make_connection()
    except ValueError as error:
        raise BadUrl.unwrap(error) or BadUrl(url=masked(url), reason=_without_value(error)) from error
    except (TypeError, redis.exceptions.RedisError) as error:
        unknown = re.search(r"unexpected keyword argument '(\w+)'", str(error))
        if unknown and unknown[1] not in options:
            raise BadUrl(url=masked(url), reason=f"a connection has no option {unknown[1]!r}") from error
        place, names = "QUEUEOPS['CONNECT']", ", ".join(options) or "empty"
        raise BadSetting(place=place, value=names, expected=f"what this URL's connections take: {error}") from error


def _without_value(error: ValueError) -> str:
    """The reason why a URL is not valid. The standard library quotes what should be a port, and may be a password."""
    return re.sub(r" as .*", "", str(error), flags=re.DOTALL)


def _check_files(options: Mapping[str, Any]) -> None:
    for name, is_there, what in (
        *((name, Path.is_file, "file") for name in ("ssl_ca_certs", "ssl_certfile", "ssl_keyfile")),
        ("ssl_ca_path", Path.is_dir, "directory"),
    ):
        if (value := options.get(name)) is not None and not is_there(Path(value)):
            raise BadSetting(
                place=f"QUEUEOPS['CONNECT']['{name}']", value=repr(value), expected=f"a {what} that is there"
            )


class EmbeddedConnection(TrustedConnection):
    """A connection that starts its server when it is not running, so that processes may start in any order."""

    def __init__(self, directory: Path, **options: Any) -> None:
        home = directory.absolute()
        super().__init__(path=str(embedded.socket_path(home)), home=home, **options)

    def _connect(self) -> Any:
        try:
            return super()._connect()
        except (FileNotFoundError, ConnectionRefusedError):
            embedded.start(self.home)
            return super()._connect()


def _embedded(directory: Path, options: dict[str, Any]) -> redis.Redis:
    pool = redis.ConnectionPool(connection_class=EmbeddedConnection, directory=directory, **_for_socket(options))
    return redis.Redis.from_pool(pool)


def _for_socket(options: dict[str, Any]) -> dict[str, Any]:
    """Remove the options that only TCP supports."""
    return {name: value for name, value in options.items() if not name.startswith("ssl") and name != "socket_keepalive"}


class Sentinels(Sentinel):
    """Sentinels whose error has the reason of each. The error of redis-py 8 names the class of each reason alone."""

    def discover_master(self, service_name: str) -> tuple[str, int]:
        """The address of the primary. The sentinel that knows it is asked first the next time.

        Raises MasterNotFoundError.
        """
        reasons = []
        is_up: Callable[..., bool] = self.check_master_state
        for number, sentinel in enumerate(self.sentinels):
            state, reason = None, "it knows no such primary, or the primary is down"
            try:
                masters: Any = sentinel.sentinel_masters()
                state = masters.get(service_name)
            except redis.RedisError as error:
                reason = str(error)
            if state and is_up(state, service_name):
                self.sentinels[0], self.sentinels[number] = sentinel, self.sentinels[0]
                return state["ip"], state["port"]
            reasons.append(f"{_address_of(sentinel)}: {reason}")
        raise MasterNotFoundError(f"No master found for {service_name!r}: {'; '.join(reasons)}")

    def names_another(self, service_name: str, host: str, port: int) -> bool:
        """Whether the sentinels know a primary, and it is not this server."""
        try:
            return self.discover_master(service_name) != (host, port)
        except MasterNotFoundError:
            return False


def _address_of(client: redis.Redis) -> str:
    return "{host}:{port}".format_map(client.connection_pool.connection_kwargs)


def _sentinel(parts: SplitResult, options: dict[str, Any]) -> redis.Redis:
    """`redis+sentinel://[user:password@]host[:port],host.../name[/db][?sentinel_username=&sentinel_password=]`."""
    name, _, database = parts.path.strip("/").partition("/")
    if not name:
        raise ValueError("the name of the sentinels' master is missing: redis+sentinel://host1,host2/NAME")
    asked = _query(parts)
    own = {key.removeprefix("sentinel_"): asked.pop(key) for key in list(asked) if key.startswith("sentinel_")}
    secure = {"ssl": True} if parts.scheme.startswith("rediss") else {}
    shared = {key: options[key] for key in ("retry", "protocol")} | DRIVER
    shared |= dict.fromkeys(("socket_timeout", "socket_connect_timeout"), ASK_S)
    shared |= {key: value for key, value in (options | asked).items() if key.startswith("ssl_")}
    made: Any = Sentinels
    sentinel = made(_hosts(parts, SENTINEL_PORT), sentinel_kwargs=shared | secure | own)
    chosen = options | asked | _credentials(parts) | secure | ({"db": _database(database)} if database else {})
    return watch(sentinel.master_for(name, **chosen), partial(sentinel.names_another, name))


def _cluster(parts: SplitResult, options: dict[str, Any]) -> redis.Redis:
    """`redis+cluster://[user:password@]host[:port],host...`; a cluster only has database 0."""
    hosts, own = _read_cluster(parts)
    nodes = [ClusterNode(host, port) for host, port in hosts]
    try:
        client: Any = RedisCluster(startup_nodes=nodes, **(options | own))
    except redis.exceptions.RedisClusterException as error:  # the one error of redis-py that is not a RedisError
        raise redis.exceptions.ConnectionError(str(error)) from error
    return client  # type: ignore[no-any-return]  # it has the same commands, and the broker uses no others


def _read_cluster(parts: SplitResult) -> tuple[list[tuple[str, int]], dict[str, Any]]:
    secure = {"ssl": True} if parts.scheme.startswith("rediss") else {}
    if _database(parts.path):
        raise ValueError("a cluster has the database 0 only")
    return _hosts(parts, PORT), _query(parts) | _credentials(parts) | secure


def _database(path: str) -> int:
    """The number of the database; redis-py treats any other text as 0."""
    text = path.strip("/")
    if text and not (text.isascii() and text.isdigit()):
        raise ValueError("what follows the host must be the number of a database, such as /0")
    return int(text or 0)


def _hosts(parts: SplitResult, port: int) -> list[tuple[str, int]]:
    found = []
    for address in parts.netloc.rpartition("@")[2].split(","):
        one = urlsplit(f"//{address}")
        if not one.hostname:
            raise ValueError("a host is missing")
        found.append((one.hostname, one.port or port))
    return found


def _credentials(parts: SplitResult) -> dict[str, str]:
    user, _, password = parts.netloc.rpartition("@")[0].partition(":")
    return {key: unquote(value) for key, value in (("username", user), ("password", password)) if value}


def _query(parts: SplitResult) -> dict[str, Any]:
    found = dict(parse_url(f"unix:///?{parts.query}")) if parts.query else {}
    return {key: value for key, value in found.items() if key not in ("path", "connection_class")}
