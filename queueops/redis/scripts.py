"""Calls of the Lua library: by FCALL, on servers with functions; else each function is a script, called by EVALSHA.

A server that does not have the library, or the script, gets it and is asked again.
"""

from __future__ import annotations

import hashlib
import logging
import re
import threading
import time
from collections import deque
from collections.abc import Callable
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import hiredis
from redis.exceptions import NoScriptError, OutOfMemoryError, ReadOnlyError, ResponseError

from queueops.errors.refusals import LibraryRefused, refusal_about
from queueops.redis import call_limits, library
from queueops.redis.connections import SpinWait, own_connection, read_reply, socket_of
from queueops.redis.error_translation import is_full, is_later
from queueops.redis.library import Library
from queueops.redis.opened_replies import RELAYED
from queueops.redis.servers import Cluster, OneServer

if TYPE_CHECKING:
    from queueops.redis.pushwire import Argument

logger = logging.getLogger("queueops.redis")

Execute = Callable[..., Any]
"""Sends one command, given as its words, to the server in question, and returns the reply."""
PROMPT = frozenset({"enqueue"})
"""Functions with a fast reply, for which the calling thread waits without other work."""
REFUSED_S, FULL_S = 300.0, 10.0
"""Seconds for which scripts are sent after a server refused functions, or did not take the library for now."""
_NOT_FOUND = "Function not found"
_LOADED = "already exists"
_NO_FUNCTIONS = ("unknown command", "unsupported command", "run the 'fcall' command", "run the 'function|load' command")
"""What servers reply that have no functions, or do not permit them to this user."""
_PLACE = re.compile(r"user_(function|script): ?(\d+)")
"""How servers name the line of an error."""
_TIMED_OUT = "FUNCTION LOAD timeout"
"""What a busy server replies; a later load may succeed."""
_NOT_COMPILED = "Error compiling script"
_OLDER = "unexpected symbol near '#'"
"""What a server before version 7 replies to a script's first line with flags."""


def is_missing(error: ResponseError) -> bool:
    """Whether a call failed because the server does not have the function or the script."""
    text = str(error)
    return isinstance(error, NoScriptError) or _NOT_FOUND in text or _has_no_functions(text)


def is_loaded(error: ResponseError) -> bool:
    """Whether a load failed because the server has this library already."""
    return _LOADED in str(error)


def _has_no_functions(text: str) -> bool:
    return any(sign in text for sign in _NO_FUNCTIONS)


def refusal(error: ResponseError, text: str, function: str = "") -> LibraryRefused | None:
    """The error for a server that refuses this text; None if it has no functions, or may take the text later.

    `function` is that of a script.
    """
    said = str(error)
    if _has_no_functions(said) or refusal_about(said) or is_full(error) or is_later(error) or _TIMED_OUT in said:
        return None
    found = _PLACE.search(said)
    place = library.place(text, int(found[2]), function) if found else ""
    advice = "Ask the operator of the server"
    if place:
        advice = f"Correct {place}, or uninstall the package that brings this file"
    return LibraryRefused(reason=said.rstrip(". \n"), place=place, advice=advice)


class Line(NamedTuple):
    """A connection of one thread to one server."""

    connection: Any
    spin_wait: SpinWait


class _Mine(threading.local):
    """The connections of one thread, by server."""

    def __init__(self) -> None:
        self.lines: dict[str, Line] = {}


class Scripts:
    """The functions of the library on the servers of a store."""

    has_warned = False
    """Whether this process has said that a store has no functions: it says so once, however many clients it makes."""

    def __init__(self, servers: OneServer | Cluster) -> None:
        """Bind the servers. What they lack (functions, flags of scripts) is found out by the calls."""
        self._scripts_until = 0.0
        self._servers = servers
        self._shebang = True
        self._mine = _Mine()
        self._digests: dict[tuple[str, bool], str] = {}

    @property
    def has_functions(self) -> bool:
        """Whether calls go to functions now. If a server has refused them, they are tried again after a while."""
        return time.monotonic() >= self._scripts_until

    def without_functions(self, seconds: float) -> None:
        """Send scripts for so many seconds."""
        self._scripts_until = time.monotonic() + seconds

    @cached_property
    def library(self) -> Library:
        """The library that the servers get."""
        return library.library()

    def command(self, name: str) -> tuple[str, str]:
        """The first words of a call: FCALL and the function, or EVALSHA and the digest."""
        if time.monotonic() >= self._scripts_until:
            return "FCALL", f"{name}_{self.library.digest}"
        shebang = self._shebang
        digest = self._digests.get((name, shebang))
        if digest is None:
            text = library.script(name, shebang=shebang)
            digest = self._digests[name, shebang] = hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()
        return "EVALSHA", digest

    def send(self, name: str, prefix: str, *arguments: Any) -> Any:
        """Call a function on a pool's keys. An error of the function has a note with its file and line."""
        try:
            try:
                soon, relayed = name in PROMPT, name in RELAYED
                return self.execute(prefix, *self.command(name), 1, prefix, *arguments, soon=soon, relayed=relayed)
            except ResponseError as error:
                if not is_missing(error):
                    raise
                return self.call_again(
                    name, (prefix, *arguments), partial(self.execute, prefix, relayed=name in RELAYED)
                )
        except ResponseError as error:
            self.note_place(name, error)
            raise

    def note_place(self, name: str, error: ResponseError) -> None:
        """Add a note with the file and the line to an error of this function; the server names a line of the text."""
        if found := _PLACE.search(str(error)):
            text = library.script(name, shebang=self._shebang) if found[1] == "script" else self.library.text
            error.add_note(f"In the Lua library: {library.place(text, int(found[2]), name)}")

    def load(self, execute: Execute) -> None:
        """Load the library to one server, unless it gets scripts. Raises LibraryRefused and redis-py's errors."""
        if self.has_functions:
            self._load(execute)

    def call_again(self, name: str, call: tuple[Any, ...], execute: Execute) -> Any:
        """Repeat a call that failed because something was missing; `call` is the prefix and the arguments."""
        if self.has_functions and self._load(execute):
            try:
                return execute(*self.command(name), 1, *call)
            except ResponseError as error:
                if not is_missing(error):
                    raise
                if _has_no_functions(str(error)):  # else it was flushed again
                    self._refused(error)
        return self._evaluate(name, call, execute)  # loads and runs in one step

    def _load(self, execute: Execute) -> bool:
        """Load the library. False if this server cannot have it: for good, or while it refuses writes."""
        try:
            execute("FUNCTION", "LOAD", self.library.text)
        except ResponseError as error:
            text = str(error)
            if _has_no_functions(text):
                self._refused(error)
                return False
            if isinstance(error, OutOfMemoryError) or text.startswith(("MISCONF", "NOREPLICAS")):
                self.without_functions(FULL_S)
                return False
            if not is_loaded(error):
                raise refusal(error, self.library.text) or error from None
        return True

    def _refused(self, error: ResponseError) -> None:
        if not Scripts.has_warned:
            Scripts.has_warned = True
            logger.warning(
                "The store has no functions, or permits none: QueueOps sends scripts, which is slower"
                " (queueops.W111 of `manage.py check --deploy`)."
            )
        logger.debug("The store refuses functions: %s. They are tried again in %d s.", error, REFUSED_S)
        self.without_functions(REFUSED_S)

    def _evaluate(self, name: str, call: tuple[Any, ...], execute: Execute) -> Any:
        shebang = self._shebang  # another thread may find out meanwhile that the server is an older one
        text = library.script(name, shebang=shebang)
        try:
            return execute("EVAL", text, 1, *call)
        except ResponseError as error:
            if not (shebang and _OLDER in str(error)):
                if _NOT_COMPILED in str(error):
                    raise refusal(error, text, name) or error from None
                raise
        self._shebang = False
        return self._evaluate(name, call, execute)

    def execute(self, key: str, *command: Any, soon: bool = False, relayed: bool = False) -> Any:
        """Send one command on this thread's own connection: redis-py's pool costs as much as the call itself.

        ``key`` says to which server, ``soon`` that the reply is fast enough to poll for it, ``relayed`` that parts of
        it go to another pool as they are. Raises redis-py's errors.
        """
        server = self._servers.name(key) if self._servers.is_cluster else ""
        until = call_limits.mine.until
        left = None if until is None else max(0.01, until - time.monotonic())
        line = self._mine.lines.get(server) or self._open(server, key, left)
        line.connection.relayed = relayed
        try:
            # redis-py's own packing takes three times as long
            line.connection.send_packed_command((hiredis.pack_command(command),), check_health=False)
            if soon:
                line.spin_wait.keep()
            return line.connection.read_response() if left is None else read_reply(line.connection, left)
        except BaseException as error:
            if not isinstance(error, ResponseError) or isinstance(error, ReadOnlyError):
                self._mine.lines.pop(server).connection.disconnect()  # its late reply is not that of the next call
            raise

    def close(self) -> None:
        """Close this thread's own connections; the next call opens a new one."""
        while self._mine.lines:
            self._mine.lines.popitem()[1].connection.disconnect()

    def _open(self, server: str, key: str, left: float | None) -> Line:
        """Connect. If the caller's time is short, a connection with that timeout shows whether the server is alive."""
        client = self._servers.client(key)
        if left is not None:
            probe = own_connection(client)
            probe.socket_timeout = min(left, probe.socket_timeout or left)
            probe.socket_connect_timeout = min(left, probe.socket_connect_timeout or left)
            probe.connect()
            probe.disconnect()
        connection = own_connection(client)
        connection.connect()
        line = self._mine.lines[server] = Line(connection, SpinWait(socket_of(connection).fileno()))
        return line


class ScriptLine:
    """Pipelined calls of one function for one pool, on a dedicated connection. Not thread-safe.

    The next call may be sent while Redis executes the last one. Each ``send`` is followed by one ``receive``, in the
    order of the calls. After any error it must be closed: replies may be missing.
    """

    def __init__(self, scripts: Scripts, client: Any, prefix: str, name: str) -> None:
        """Connect to the server of ``client``, which holds the pool; ``name`` is the function's.

        Raises redis-py's errors.
        """
        self._scripts = scripts
        self._prefix = prefix
        self._name = name
        self._calls: deque[tuple[Argument, ...]] = deque()
        self._early: deque[Any] = deque()
        self._connection = own_connection(client)
        self._connection.relayed = name in RELAYED
        self._connection.connect()

    def send(self, *arguments: Argument) -> None:
        """Send one call. Raises redis-py's errors."""
        call = (self._prefix, *arguments)
        packed = hiredis.pack_command((*self._scripts.command(self._name), 1, *call))  # type: ignore[arg-type]
        self._connection.send_packed_command((packed,), check_health=False)
        self._calls.append(call)

    def receive(self) -> Any:
        """Return the reply of the oldest pending call. Raises redis-py's errors, as `Scripts.send`."""
        try:
            if not self._early:
                try:
                    self._early.append(self._connection.read_response())
                except ResponseError as error:
                    if not is_missing(error):
                        raise
                    self._call_again()
        except ResponseError as error:
            self._scripts.note_place(self._name, error)
            raise
        self._calls.popleft()
        return self._early.popleft()

    def close(self) -> None:
        """Close the connection. Pending calls are executed, and their replies are lost."""
        self._connection.disconnect()

    def _call_again(self) -> None:
        """Repeat the pending calls that failed because the server lacks the function."""
        replies = [None, *(self._read() for _ in range(len(self._calls) - 1))]
        for call, reply in zip(self._calls, replies, strict=True):
            self._early.append(self._scripts.call_again(self._name, call, self._execute) if reply is None else reply[0])

    def _read(self) -> tuple[Any] | None:
        """The next reply; None if the call is to be repeated."""
        try:
            return (self._connection.read_response(),)
        except ResponseError as error:
            if not is_missing(error):
                raise
            return None

    def _execute(self, *command: Argument) -> Any:
        packed = hiredis.pack_command(command)  # type: ignore[arg-type]  # it takes any length
        self._connection.send_packed_command((packed,), check_health=False)
        return self._connection.read_response()
