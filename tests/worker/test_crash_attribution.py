"""Who is charged with the death of a worker process."""

from __future__ import annotations

from queueops.worker.shared_slot_table import NEVER, Running
from queueops.worker.supervisor.crash_attribution import REMEMBERED, CrashAttribution


def running(*names: str) -> list[Running]:
    return [Running(slot, 1, 0.0, NEVER, 1, name, "mail") for slot, name in enumerate(names)]


def charged(share_before: CrashAttribution, *names: str) -> list[str]:
    return [name for (_, name), deaths in share_before.judge(running(*names)).items() if deaths == 0]


def test_who_ran_alone_is_charged_each_time() -> None:
    share_before = CrashAttribution()
    assert [charged(share_before, "a") for _ in range(3)] == [["a"]] * 3
    assert charged(share_before) == [], "a process that ran no task"


def test_of_several_none_is_charged_and_each_is_told_how_often_it_was_there() -> None:
    share_before = CrashAttribution()
    assert share_before.judge(running("a", "b")) == {("mail", "a"): 1, ("mail", "b"): 1}
    assert share_before.judge(running("b", "c")) == {("mail", "b"): 2, ("mail", "c"): 1}


def test_who_is_there_each_time_is_charged_and_its_changing_neighbours_are_not() -> None:
    share_before, found = CrashAttribution(), []
    for death in range(24):
        found += charged(share_before, "poison", *(f"{death}-{number}" for number in range(3)))
    assert found == ["poison"] * 3


def test_two_that_always_die_together_are_charged_in_the_end() -> None:
    share_before = CrashAttribution()
    assert [charged(share_before, "a", "b") for _ in range(12)] == ([[]] * 3 + [["a", "b"]]) * 3


def test_one_name_in_two_pools_is_two_tasks() -> None:
    share_before = CrashAttribution()
    share_before.judge(running("a", "b"))
    other = [running("a")[0]._replace(pool="files"), *running("b")]
    assert share_before.judge(other) == {("files", "a"): 1, ("mail", "b"): 2}


def test_so_many_suspects_are_kept() -> None:
    share_before = CrashAttribution()
    share_before.judge(running("first", "second"))
    for number in range(REMEMBERED // 100):
        share_before.judge(running(*(f"{number}-{other}" for other in range(100))))
    assert share_before.judge(running("first", "third")) == {("mail", "first"): 1, ("mail", "third"): 1}
