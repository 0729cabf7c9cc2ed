"""Workflows that use objects of other systems and the environment, and one that uses objects that look alike."""

from __future__ import annotations

import os
import random
import sqlite3
import threading
from os import environ
from typing import Any

import httpx
import redis
import requests
from django.core.cache import caches

from queueops import wf, workflow

STORE = redis.Redis()
SESSION = requests.Session()
CACHE = caches["default"]
NUMBERS = random.Random(7)
LOCK = threading.Lock()
ADDRESS = httpx.URL("https://shop.example/")
PRICES = {"a": 1}


class OwnStore(redis.Redis):
    """A class of the project."""


OWN = OwnStore()


class Shop:
    """An object of the project, with a method of the same name."""

    def get(self, key: str) -> str:
        """Nothing of another system."""
        return key


SHOP = Shop()


@workflow(name="checked.objects")
async def objects(url: str) -> None:
    """Uses each object."""
    STORE.get("key")  # of the module
    OWN.get("key")  # of a subclass
    SESSION.get(url)  # a session
    CACHE.get("key")  # a cache
    NUMBERS.random()  # random numbers
    LOCK.acquire()  # a lock
    client = redis.Redis()  # a constructor
    client.get("key")  # made here
    store = redis.Redis.from_url(url)  # another constructor
    store.pipeline().execute()  # made by a function
    with requests.Session() as session:  # a constructor in a with
        session.get(url)  # of a with
    async with httpx.AsyncClient() as requester:  # a constructor in an async with
        await requester.get(url)  # of an async with
    connection: Any = sqlite3.connect("file")  # a connection
    connection.execute("")  # with an annotation
    import redis as other

    late = other.Redis()  # imported in the function
    late.get("key")  # made by an import in the function
    helper(client, url)


def helper(given: redis.Redis, url: str) -> Any:
    """Gets an object as an argument."""
    return given.get(url)  # an argument


@workflow(name="checked.environment")
async def environment() -> None:
    """Reads the environment."""
    os.environ["HOME"]  # by name
    os.environ.get("HOME")  # with a default
    os.getenv("HOME")  # by a function
    "HOME" in os.environ  # noqa: B015  # a question
    dict(environ)  # a copy
    for _ in os.environ:  # a loop
        pass
    os.environ.setdefault("HOME", "/")  # a change
    values = environ  # another name
    print(values)


@workflow(name="checked.alike")
async def alike(client: Shop, store: dict[str, str]) -> None:
    """Uses what has the same names or methods."""
    client.get("key")
    store.get("key")
    SHOP.get("key")
    PRICES.get("a")
    ADDRESS.join("/orders")
    ADDRESS.copy_with(path="/")
    session = {"a": 1}
    session.get("a")
    either: Any = requests.Session()  # checkworkflows: ignore
    either = {"a": 1}
    either.get("a")
    numbers = random.Random(7)  # checkworkflows: ignore
    numbers.random()
    wf.random().random()
    wf.side_effect(lambda: dict(os.environ))
    environ = {"HOME": "/"}
    environ.get("HOME")
    os.path.join("a", "b")  # noqa: PTH118
    try:
        await wf.sleep(1)
    except redis.ConnectionError as error:
        error.with_traceback(None)
