"""Objects that the code of a workflow must not use: clients of other systems, connections, threads and generators.

An object of a module is known by its class, a name of a function by what it is bound to there.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from queueops.kinds.workflows.code_check.forbidden_calls import ACTIVITY, RANDOM

CLASSES: dict[str, str] = {
    **dict.fromkeys(
        (
            *("requests.sessions.Session", "httpx._client.BaseClient", "aiohttp.client.ClientSession"),
            *("urllib3.poolmanager.PoolManager", "urllib3.connectionpool.HTTPConnectionPool"),
            *("http.client.HTTPConnection", "smtplib.SMTP", "ftplib.FTP", "_socket.socket", "socket.socket"),
            *("redis.client.Redis", "redis.client.Pipeline", "redis.cluster.RedisCluster"),
            *("redis.asyncio.client.Redis", "redis.asyncio.cluster.RedisCluster"),
            *("botocore.client.BaseClient", "boto3.resources.base.ServiceResource"),
            *("sqlite3.Connection", "sqlite3.Cursor", "psycopg2.extensions.connection"),
            *("psycopg.connection.Connection", "psycopg.connection_async.AsyncConnection"),
            *("django.db.backends.base.base.BaseDatabaseWrapper", "django.core.cache.backends.base.BaseCache"),
            *("threading.Thread", "threading.Event", "threading.Condition", "threading.Semaphore", "threading.Barrier"),
            *("_thread.lock", "_thread.RLock", "subprocess.Popen", "concurrent.futures._base.Executor"),
            *("multiprocessing.process.BaseProcess", "multiprocessing.pool.Pool"),
        ),
        ACTIVITY,
    ),
    "random.Random": RANDOM,
}
"""Classes whose methods are refused, by the full name where each is defined; also their subclasses."""

MAKERS = frozenset(
    (
        *("requests.Session", "requests.session", "requests.sessions.session", "httpx.Client", "httpx.AsyncClient"),
        *("aiohttp.ClientSession", "urllib3.PoolManager", "socket.create_connection"),
        *("redis.Redis", "redis.StrictRedis", "redis.from_url", "redis.utils.from_url", "redis.Redis.from_url"),
        *("redis.client.Redis.from_url", "redis.RedisCluster", "redis.asyncio.Redis", "redis.asyncio.from_url"),
        *("boto3.client", "boto3.resource", "sqlite3.connect", "psycopg.connect", "psycopg2.connect"),
        *("psycopg.Connection.connect", "psycopg.connection.Connection.connect"),
    )
)
"""Functions that give such an object, and public names of such classes, as an import in a function has them."""


def advice_for_object(value: object) -> str:
    """What to use in the place of a method of this object; empty if it is allowed."""
    return "" if isinstance(value, type) else advice_for_class(type(value))


def advice_for_class(found: type) -> str:
    """What to use in the place of a method of an object of this class; empty if it is allowed."""
    names = (f"{base.__module__}.{base.__qualname__}" for base in found.__mro__)
    return next((CLASSES[name] for name in names if name in CLASSES), "")


class OwnObjects:
    """Names of one function that are bound to such an object alone. ``resolved``: full name and object of a name."""

    def __init__(self, resolved: Callable[[ast.expr], tuple[str, Any]]) -> None:
        self._resolved = resolved
        self._made: dict[str, int] = {}
        self._bound: dict[str, int] = {}

    def note_name(self, node: ast.AST) -> None:
        """Note a name that the function binds, and whether it is bound to such an object."""
        match node:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                self._bound[name] = self._bound.get(name, 0) + 1
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.NamedExpr(target=ast.Name(id=name)):
                self._note(name, self._is_made(node.value))
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                self._note(name, self._is_made(value))
            case ast.withitem(optional_vars=ast.Name(id=name)):
                self._note(name, self._is_made(node.context_expr))
            case ast.arg(arg=name, annotation=annotation):
                self._bound[name] = self._bound.get(name, 0) + 1
                self._note(name, annotation is not None and self._is_class(annotation))

    def has(self, node: ast.expr) -> bool:
        """Whether an expression is such a name."""
        return isinstance(node, ast.Name) and 0 < self._made.get(node.id, 0) == self._bound.get(node.id, 0)

    def _note(self, name: str, made: bool) -> None:
        self._made[name] = self._made.get(name, 0) + made

    def _is_made(self, node: ast.expr) -> bool:
        value = node.value if isinstance(node, ast.Await) else node
        return isinstance(value, ast.Call) and (self._resolved(value.func)[0] in MAKERS or self._is_class(value.func))

    def _is_class(self, node: ast.expr) -> bool:
        """Whether this names such a class. A generator of random numbers that a function makes has its own seed."""
        name, found = self._resolved(node)
        return name in MAKERS or (isinstance(found, type) and advice_for_class(found) == ACTIVITY)
