"""What is true of the keys of limits between any two calls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set

from queueops.model import states
from tests.kernel.picture import Picture


def waiting(picture: Picture) -> dict[str, list[str]]:
    """The tasks that wait for a turn, by key."""
    return {scope: picture.order(f"limit:{scope}#waiting") for scope in picture.under("limit:", sub="waiting")}


def without_turn(picture: Picture) -> set[str]:
    """All tasks that wait for a turn of their key."""
    return {task_id for ids in waiting(picture).values() for task_id in ids}


def of_chunks(picture: Picture, member: str) -> dict[str, str]:
    """The limit of the chunks of the task whose lane, or whose second run, this is."""
    row = picture.hash(f"task:{member.strip('#').partition('#')[0]}")
    return {"lm": row.get("cl", "1000000")} | ({"lr": row["cq"]} if "cq" in row else {})


def problems(picture: Picture, records: Mapping[str, Mapping[str, str]], haunted: Set[str]) -> Iterator[str]:
    """A task with a key runs, has a turn of it, or waits for one; none waits while its key has a turn left.

    The first one that waits gets a turn when another one ends or begins, or when a token is there.
    """
    waits, wanted = waiting(picture), {}
    without = without_turn(picture)
    for task_id, row in records.items():
        if "lk" in row and row["s"] in ("pending", *states.table().leased):
            part = "active" if row["s"] != "pending" else "waiting" if task_id in without else "turn"
            wanted.setdefault((f"{row['n']} {row['lk']}", part), set()).add(task_id)
    found = {(scope, "waiting"): set(ids) - haunted for scope, ids in waits.items()}
    for part in ("turn", "active"):
        for scope in picture.under("limit:", sub=part):
            found[scope, part] = picture.members(f"limit:{scope}#{part}") - haunted
    tasks = {place: {member for member in members if "#" not in member} for place, members in found.items()}
    if (tasks := {place: members for place, members in tasks.items() if members}) != wanted:
        yield f"of keys there is {tasks}, expected {wanted}"
    for scope, ids in waits.items():
        first = records.get(ids[0]) or of_chunks(picture, ids[0])
        taken = len(found.get((scope, "turn"), ())) + len(found.get((scope, "active"), ()))
        if taken >= int(first.get("lm", "1000000")):
            continue
        if "lr" not in first:
            yield f"the key {scope} has {taken} turns, and others wait"
        elif not found.get((scope, "turn")) and f"~limit:{scope}" not in picture.scores("agenda"):
            yield f"tasks of the key {scope} wait for a token, and the agenda does not return to it"
    listed: dict[str, float] = {}
    for name in picture.under("limits:"):
        listed |= picture.scores(f"limits:{name}")
    if listed != {scope: len(ids) for scope, ids in waits.items()}:
        yield f"the keys that wait are listed as {listed}"
