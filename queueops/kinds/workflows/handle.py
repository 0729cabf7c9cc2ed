"""Handle of a run: its result, signals, cancel, and its history."""

from __future__ import annotations

from functools import partial
from typing import Any, TypeVar, cast

from queueops.errors.workflows import InstanceGone, ResetRefused, RunEnded
from queueops.kinds.workflows import events
from queueops.kinds.workflows.arguments import check_entry, encode_signal
from queueops.kinds.workflows.events import Entry
from queueops.kinds.workflows.replay import tracing
from queueops.kinds.workflows.store.payloads import filled
from queueops.kinds.workflows.store.run_store import HISTORY_PAGE, RunStore, get_run_store
from queueops.model.contracts import LeaseRef
from queueops.model.durations import Delay
from queueops.model.reasons import kept
from queueops.model.records import Record
from queueops.results import waiting
from queueops.results.handle import TaskHandle
from queueops.tasks.context import held
from queueops.tasks.encoding import decode_result

Result = TypeVar("Result", covariant=True)


class WorkflowHandle(TaskHandle[Result]):
    """The reference to a run of a workflow. `id` is the run, `instance` what it is a run of.

    Its methods act on that run, and on those that it went on as: it continued as new, or was reset. With `newest`, as
    `order.handle(...)` gives it, they act on the newest run of the instance.
    """

    __slots__ = ("_of_instance", "instance")

    def __init__(
        self,
        id: str,
        pool: str = "default",
        word: str = "",
        uid: int = 0,
        *,
        instance: str = "",
        newest: bool = False,
    ) -> None:
        super().__init__(id, pool, word, uid)
        self.instance = instance or id
        self._of_instance = newest

    def __reduce__(self) -> tuple[Any, ...]:
        own: dict[str, Any] = {"instance": self.instance} | ({"newest": True} if self._of_instance else {})
        return partial(WorkflowHandle, **own), (self.id, self.pool, self.word, self.uid)

    def __repr__(self) -> str:
        return f"<WorkflowHandle {self.instance} in {self.pool}>"

    def result(self, timeout: float | None = None) -> Result:
        """Wait for the end, and return the result; as `TaskHandle.result`.

        It follows runs that continue as new, and runs that were reset.
        """
        patience = waiting.Patience.of(timeout)
        record = self._meant()._end(patience)
        while after := record.own.get("next_run"):  # a run that was reset has ended too, and another one goes on
            record = TaskHandle[Any](after, self.pool)._end(patience)
        return cast(Result, self._outcome(record))

    async def aresult(self, timeout: float | None = None) -> Result:
        """The same for async code."""
        patience = waiting.Patience.of(timeout)
        record = await (await waiting.in_thread(self._meant))._aend(patience)
        while after := record.own.get("next_run"):
            record = await TaskHandle[Any](after, self.pool)._aend(patience)
        return cast(Result, await self._aoutcome(record))

    def signal(self, name: str, value: Any = None) -> None:
        """Send a signal. Raises RunEnded, InstanceGone and NotEncodable, and LeaseLost in a task without its lease."""
        payload = events.raw(encode_signal(name, value))
        entry = Entry("signal", name=name, payload=payload)
        with tracing.sending(name, self.instance):
            self._tell("signal", events.encode(entry), name, under=held())

    async def asignal(self, name: str, value: Any = None) -> None:
        """The same for async code."""
        await waiting.in_thread(partial(self.signal, name, value))

    def cancel(self, reason: str = "", *, hard: bool = False) -> bool:
        """Ask the code to end: it gets CancelledError, and may clean up. False if it had already ended.

        A run that waits for its first step until a time (`using(delay=...)`) is cancelled at once.
        With `hard` it is terminated, and what it has begun is cancelled hard: activities that run are interrupted.
        """
        if hard:
            return TaskHandle(self._newest(), self.pool).cancel(reason, hard=True)
        return self._told("cancel", events.encode(Entry("cancel", reason=kept(reason))), kept(reason))

    def terminate(self, reason: str = "") -> bool:
        """End the run at once, with its activities and timers; its code is not asked. False if it had already ended."""
        return TaskHandle(self._newest(), self.pool).cancel(reason)

    async def aterminate(self, reason: str = "") -> bool:
        """The same for async code."""
        return await waiting.in_thread(partial(self.terminate, reason))

    def retry(self, everything: bool = False) -> bool:
        """Make the failed step again; see "How a run ends" in docs/workflows.md.

        With `everything` it begins from nothing, and so does a run that has not failed. False if its state does not
        permit it.
        """
        return TaskHandle(self._newest(), self.pool).retry(everything)

    def run_now(self) -> bool:
        """Make the next step of a delayed or blocked run now. False if its state does not permit it."""
        return TaskHandle(self._newest(), self.pool).run_now()

    def postpone(self, delay: Delay) -> bool:
        """Delay a run that waits for its first step. False if its state does not permit it."""
        return TaskHandle(self._newest(), self.pool).postpone(delay)

    def suspend(self, reason: str = "") -> bool:
        """Make no further step until `resume`; events wait in the inbox. False if it had already ended.

        The log of the run has the reason.
        """
        return self._told("suspend", b"", kept(reason))

    async def asuspend(self, reason: str = "") -> bool:
        """The same for async code."""
        return await waiting.in_thread(partial(self.suspend, reason))

    def resume(self) -> bool:
        """Go on after `suspend`. False if it had already ended."""
        return self._told("resume", b"")

    async def aresume(self) -> bool:
        """The same for async code."""
        return await waiting.in_thread(self.resume)

    def reset(self, entry: int, reason: str = "") -> WorkflowHandle[Result]:
        """Begin a new run with the history before the step of an entry, which is numbered from 1 as in `history`.

        The step is made again, with the code as it is now. Signals behind it come again, calls behind it are
        cancelled, and a run that has not ended is cancelled. Raises InstanceGone, ResetRefused and BadOption.
        """
        check_entry(entry)
        run = self._newest()
        answer = self._store.reset_run(self.pool, run, entry, reason=kept(reason) or f"reset to entry {entry}")
        if answer.word == "GONE":
            raise InstanceGone(id=self.instance)
        if answer.word == "REFUSED":
            raise ResetRefused(id=run, reason=answer.reason)
        return WorkflowHandle(answer.run, self.pool, instance=self.instance)

    async def areset(self, entry: int, reason: str = "") -> WorkflowHandle[Result]:
        """The same for async code."""
        return await waiting.in_thread(partial(self.reset, entry, reason))

    def custom_status(self) -> Any:
        """The value of the last `wf.set_status`. Raises NotDecodable if other software has written it."""
        row = self._store.run_row(self.pool, self._newest())
        return decode_result(self.instance, row.fields.get("vq", "").encode()) if row else None

    async def acustom_status(self) -> Any:
        """The same for async code."""
        return await waiting.in_thread(self.custom_status)

    def history(self) -> list[Entry]:
        """The whole history of the run."""
        found: list[Entry] = []
        run = self._newest()
        while page := self._store.history(self.pool, run, len(found)):
            found += [events.decode(text) for text in filled(page, partial(self._store.payloads, self.pool, run))]
            if len(page) < HISTORY_PAGE:
                break
        return found

    async def ahistory(self) -> list[Entry]:
        """The same for async code."""
        return await waiting.in_thread(self.history)

    def _told(self, what: str, text: bytes, reason: str = "") -> bool:
        try:
            self._tell(what, text, reason)
        except RunEnded:
            return False
        return True

    def _tell(self, what: str, text: bytes, name: str, under: LeaseRef | None = None) -> None:
        run = "" if self._of_instance else self.id
        self._store.tell_run(self.pool, what, text, run=run, instance=self.instance, name=name, under=under)

    def _newest(self) -> str:
        """The run that this handle means now."""
        return self._store.last_run(self.pool, "" if self._of_instance else self.id, self.instance) or self.id

    def _meant(self) -> TaskHandle[Any]:
        """The handle of the run whose state and result this one tells."""
        return TaskHandle(self._newest(), self.pool) if self._of_instance else self

    def _record(self) -> Record | None:
        return self._meant()._record() if self._of_instance else super()._record()

    @property
    def _store(self) -> RunStore:
        return get_run_store()
