"""Embedded server: a Valkey that a project's processes share, without an installation of its own."""

from queueops.redis.embedded.server import Server as Server
from queueops.redis.embedded.server import ask as ask
from queueops.redis.embedded.server import socket_path as socket_path
from queueops.redis.embedded.server import start as start
from queueops.redis.embedded.server import status as status
from queueops.redis.embedded.server import stop as stop
