"""Details of a task that a kind brings: to its page, to its raw view, and to a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

if TYPE_CHECKING:
    from queueops.inspect.alarm import Alarm
    from queueops.inspect.detail import TaskDetail
    from queueops.inspect.hits import LookUp
    from queueops.inspect.task_history import Moment
    from queueops.model.redact import Redactor
    from queueops.redis.query_replies import Detail


class Finder(NamedTuple):
    """How the find box finds records by another id than their own.

    ``key`` is that of a hash among the kind's ``keys``: the id of a record by that other id. It knows whole ids only.
    """

    title: str
    key: str


class OtherId(NamedTuple):
    """What has an id that is not a task's, the words behind `manage.py queue` that show it, and a task of it."""

    what: str
    words: tuple[str, ...]
    task: str = ""


class KindDetails:
    """What operators see of one kind; by default nothing."""

    finder: ClassVar[Finder | None] = None
    """How its records are found by another id than their own."""

    lanes: ClassVar[Sequence[str]] = ()
    """Beginnings of the names of lanes that the kind makes, and whose limits it sets."""

    raw: ClassVar[Mapping[str, Callable[[bytes, Redactor], str]]] = {}
    """Its record fields with payloads, by the name in the store: how the raw view shows each."""

    entered: ClassVar[Mapping[str, str]] = {}
    """The state into which a task came by a line of its log: by the kind of the line, or the verb of an operator."""

    stored: ClassVar[Sequence[str]] = ()
    """Patterns of texts that the kind writes into records and logs, for pages in other languages.

    `marked` finds them for catalogs. The value `%(number)s` is a number, `%(reason)s` another such text.
    """

    nouns: ClassVar[Mapping[str, tuple[str, str]]] = {}
    """What a task with this record is called in a terminal: the noun of one, and of many, by record."""

    def of_task(self, detail: Detail, record: Mapping[str, str], state: str) -> dict[str, Any]:
        """Values of `TaskDetail` by attribute, which built-in kinds have there.

        ``record`` has the record's fields as text, without payloads.
        """
        return {}

    def moments(self, detail: Detail, record: Mapping[str, str]) -> Iterable[Moment]:
        """Changes of state that neither the record nor the log of the task has, for its timeline."""
        return ()

    def retried_by(self, detail: Detail, state: str) -> str:
        """The task that runs this ended part of it again; empty for what is no part of this kind."""
        return ""

    def lines(self, task: TaskDetail) -> Iterable[tuple[str, object]]:
        """Lines of the task in a terminal: what each is, and its value."""
        return ()

    def other_ids(self, id: str, found: LookUp) -> Iterable[OtherId]:
        """What of this kind has this id, which is not a task's; `found` is what the find box knows of it."""
        return ()

    def lost_by_edit(self, task: TaskDetail) -> str:
        """What is lost if the task runs with other arguments, as a question; empty if nothing is."""
        return ""

    def refuses(self, record: str, fields: Mapping[str, str]) -> Iterable[str]:
        """The verbs of an operator that its Lua refuses for a record with these known fields. None is offered."""
        return ()

    def alarms(self, pool: str, sampled: Mapping[str, Any]) -> Iterable[Alarm]:
        """Alarms of a pool for the status head, by its sampled figures."""
        return ()

    def notes(self, sampled: Mapping[str, Any]) -> Iterable[str]:
        """Sentences beside a pool, by its sampled figures."""
        return ()
