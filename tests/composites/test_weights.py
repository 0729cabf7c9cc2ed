"""Progress of composites: each leaf counts as much as its own total, in parts while it runs, wherever it runs."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from queueops import Batch, Chain, Group, MapReduce, Progress, chain, current, group, task
from queueops import Iterator as TaskIterator
from queueops.errors import BadOption
from queueops.model.contracts import Lease, Node, Outcome
from queueops.model.weights import shown, weights_below
from queueops.redis import broker as brokers
from queueops.testing import eager, run_worker
from queueops.worker.loop.progress_buffer import ProgressBuffer
from tests.composites.pools import Pools
from tests.composites.test_pools import anywhere, of_any_shape
from tests.composites.trees import Tree, chain_of, group_of, plant
from tests.composites.work import Count, Squares, tell
from tests.kernel.conftest import MakeDesk
from tests.kernel.desk import NEVER_MS, Desk
from tests.support.for_each import for_each
from tests.support.tasks_for_tests import add

FAR = {"one pool": {}, "two pools": {"a": "north"}, "three pools": {"h": "south", "a": "north"}}


@pytest.fixture
def pools(make_desk: MakeDesk) -> Iterator[Pools]:
    """Two pools beside the default one; all are checked at the end."""
    pools = Pools(make_desk().broker, "north", "south")
    yield pools
    pools.check()


def planted(pools: Pools, tree: Tree, weights: dict[str, float], where: dict[str, str]) -> None:
    """Push a tree whose leaves have these totals, and bring what that means elsewhere."""
    nodes: list[Node] = pools.nodes(tree, **where)
    for node in nodes:
        if node.push.id in weights:
            node.push.own = (("to", shown(weights[node.push.id])),)
    own = dict(nodes[0].push.own) | {"to": shown(weights_below(nodes)[0])}
    nodes[0].push.own = tuple(own.items())
    pools.broker.plant(nodes)
    pools.deliver()


def progress_of(pools: Pools, task_id: str) -> tuple[float | None, float | None]:
    """How far a root is."""
    record = next(filter(None, (desk.record(task_id) for desk in pools.desks.values())))
    return record.progress, record.total


def lease_of(pools: Pools, task_id: str, where: dict[str, str]) -> Lease:
    """Claim this one."""
    pool = where.get(task_id, where.get("h", "default") if task_id in "ab" else "default")
    leases = {lease.id: lease for lease in pools[pool].claim(5)}
    found = leases.pop(task_id)
    for other in leases.values():
        pools.settle(other, Outcome.RELEASE)
    return found


def advance(pools: Pools, lease: Lease, done: float, total: float | None = None) -> None:
    """A running task says how far it is, and what that means elsewhere is brought there."""
    assert pools.broker.advance(lease.pool, lease.id, lease.fence, done, total) == "OK"
    pools.deliver()


@pytest.mark.parametrize("where", FAR.values(), ids=FAR)
def test_half_of_a_leaf_shows_at_the_root(pools: Pools, where: dict[str, str]) -> None:
    tree = chain_of("c", group_of("h", "a", "b"), "d")
    planted(pools, tree, {"a": 10, "b": 0.5}, where)
    assert progress_of(pools, "c") == (0, 11.5)
    a = lease_of(pools, "a", where)
    advance(pools, a, 5)
    assert progress_of(pools, "c") == (5, 11.5)
    pools.settle(a)
    pools.deliver()
    assert progress_of(pools, "c") == (10, 11.5)
    pools.drain()
    assert progress_of(pools, "c") == (11.5, 11.5)


@pytest.mark.parametrize("where", FAR.values(), ids=FAR)
def test_a_total_that_a_running_leaf_says_counts_at_the_root(pools: Pools, where: dict[str, str]) -> None:
    planted(pools, group_of("g", group_of("h", "a", "b"), "d"), {}, where)
    a = lease_of(pools, "a", where)
    advance(pools, a, 25, 100)
    assert progress_of(pools, "g") == (25, 102)
    advance(pools, a, 20, 50)
    assert progress_of(pools, "g") == (20, 52)
    advance(pools, a, 1000)
    assert progress_of(pools, "g") == (50, 52)
    advance(pools, a, 1, 0)
    assert progress_of(pools, "g") == (1, 3)
    pools.drain()
    pools.settle(a)
    pools.deliver()
    assert progress_of(pools, "g") == (3, 3)


@pytest.mark.parametrize("where", FAR.values(), ids=FAR)
def test_a_leaf_without_a_total_counts_when_it_has_ended(pools: Pools, where: dict[str, str]) -> None:
    planted(pools, group_of("g", group_of("h", "a", "b"), "d"), {}, where)
    a = lease_of(pools, "a", where)
    advance(pools, a, 7)
    assert progress_of(pools, "g") == (0, 3)


@pytest.mark.parametrize("where", FAR.values(), ids=FAR)
def test_attempts_and_retries_do_not_distort_the_progress(pools: Pools, where: dict[str, str]) -> None:
    tree = group_of("g", group_of("h", "a", "b", of="continue"), "d", of="continue")
    planted(pools, tree, {"a": 10, "d": 4}, where)
    a = lease_of(pools, "a", where)
    advance(pools, a, 9)
    desk = pools[a.pool]
    desk.client.hset(desk.keys.task("a"), "r", 1)
    pools.settle(a, Outcome.ERROR, delay_ms=NEVER_MS)
    desk.make_due("a")
    a = lease_of(pools, "a", where)
    advance(pools, a, 2)
    assert progress_of(pools, "g") == (2, 15)
    pools.settle(a, Outcome.ERROR, b"{}", delay_ms=-1)
    pools.drain()
    assert progress_of(pools, "g") == (15, 15)
    assert pools.state("g") == "failed"
    pools.broker.control("default", "retry", ["g"])
    pools.deliver()
    assert progress_of(pools, "g") == (5, 15)
    a = lease_of(pools, "a", where)
    advance(pools, a, 5, 20)
    assert progress_of(pools, "g") == (10, 25)
    pools.settle(a)
    pools.drain()
    assert (pools.state("g"), progress_of(pools, "g")) == ("succeeded", (25, 25))
    pools.broker.control("default", "retry", ["g"], value="all")
    pools.deliver()
    assert progress_of(pools, "g") == (0, 25)
    pools.drain()
    assert progress_of(pools, "g") == (25, 25)


@pytest.mark.parametrize("where", FAR.values(), ids=FAR)
def test_what_ends_when_its_parent_is_over_counts_only_as_far_as_it_was(pools: Pools, where: dict[str, str]) -> None:
    planted(pools, group_of("g", group_of("h", "a", "b"), "d"), {"a": 10}, where)
    a = lease_of(pools, "a", where)
    advance(pools, a, 5)
    d = lease_of(pools, "d", where)
    pools.settle(d, Outcome.ERROR, b"{}", delay_ms=-1)
    pools.deliver()
    before = progress_of(pools, "g")
    assert before == (6, 12)
    pools.broker.advance(a.pool, a.id, a.fence, 9)
    pools.settle(a)
    pools.deliver()
    assert progress_of(pools, "g") == before
    pools.broker.control("default", "retry", ["g"])
    pools.drain()
    assert (pools.state("g"), progress_of(pools, "g")) == ("succeeded", (12, 12))


@pytest.mark.parametrize("seed", range(40))
def test_whatever_its_leaves_say_in_whatever_order_a_whole_comes_to_its_total(pools: Pools, seed: int) -> None:
    chance = random.Random(seed)
    tree = of_any_shape(chance)
    where = anywhere(pools, tree, chance)
    leaves = [node.push.id for node in pools.nodes(tree) if node.push.kind == "task"]
    weights = {leaf: chance.choice([0.25, 3, 10, 1000]) for leaf in leaves if chance.random() < 0.6}
    planted(pools, tree, weights, where)
    final = {leaf: weights.get(leaf, 1) for leaf in leaves}
    failing = set(chance.sample(leaves, chance.randint(0, min(2, len(leaves)))))

    def run(lease: Lease) -> tuple[Outcome, bytes]:
        for _ in range(chance.randint(0, 3)):
            total = chance.choice([None, None, 2, 50])
            pools.broker.advance(lease.pool, lease.id, lease.fence, chance.choice([0, 0.1, 1, 30, 2000]), total)
            final[lease.id] = final[lease.id] if total is None else total
        return (Outcome.ERROR, b"{}") if lease.id in failing else (Outcome.SUCCESS, b"1")

    pools.drain(run, chance)
    done, total = progress_of(pools, tree.id)
    assert total == pytest.approx(sum(final.values()))
    assert 0 <= done <= total + 1e-6
    failing.clear()
    while pools.state(tree.id) == "failed":
        assert pools.broker.control(where[tree.id], "retry", [tree.id])[0].word == "OK"
        pools.drain(run, chance)
    assert progress_of(pools, tree.id) == (pytest.approx(sum(final.values())), pytest.approx(sum(final.values())))
    assert pools.commands() == 0


def test_small_steps_of_a_leaf_do_not_travel(pools: Pools) -> None:
    planted(pools, group_of("g", "a", "b"), {"a": 10_000}, {"a": "north"})
    a = pools.lease("north")
    commands = []
    for done in range(1, 10_001, 7):
        pools.broker.advance("north", "a", a.fence, done)
        commands += pools.take("north")
        for command in commands[-1:]:
            pools.tell("north", *pools.apply(command))
    assert 90 <= len(commands) <= 101
    assert pools["north"].record("a").progress == 9997
    pools.deliver()
    assert progress_of(pools, "g")[0] >= 9900


def test_many_steps_in_a_short_time_are_one_call_of_the_store_and_a_plain_task_asks_nothing_of_its_parent() -> None:
    calls: list[tuple[Any, ...]] = []

    class Store:
        def note(self, *args: Any, **values: Any) -> str:
            calls.append(("note", *args, values))
            return "OK"

        def advance(self, *args: Any) -> str:
            calls.append(("advance", *args))
            return "OK"

    channel = ProgressBuffer(Store())  # type: ignore[arg-type]
    plain, part = Lease(id="p", fence=1), Lease(id="c", fence=2, parent_id="g")
    chunk = Lease(id="m#1", fence=3, parent_id="m", kind="chunk")
    for done in range(1000):
        for lease in (plain, part, chunk):
            channel.progress(lease, done, 1000 if not done else None)
    channel.send()
    assert calls == [
        ("note", "default", "p", 1, {"done": 999, "total": 1000}),
        ("advance", "default", "c", 2, 999, 1000),
        ("note", "default", "m#1", 3, {"done": 999, "total": 1000}),
    ]


def test_progress_under_an_old_lease_is_refused(desk: Desk) -> None:
    plant(desk, group_of("g", "a"))
    lease = desk.lease()
    assert desk.broker.advance("default", "a", lease.fence + 1, 1, 2) == "STALE"
    assert desk.broker.advance("default", "gone", lease.fence, 1, 2) == "GONE"
    desk.settle(lease)
    assert desk.broker.advance("default", "a", lease.fence, 1, 2) == "STALE"
    assert (desk.record("g").progress, desk.record("g").total) == (1, 1)


# As users have it


@task(name="tests.weights.steps", total=8)
def steps(at: str = "") -> list[Any]:
    """Go on by steps; answer how far the composite is in the middle."""
    current().progress_add(1)
    current().progress_add(3)
    return seen_at(at)


@task(name="tests.weights.pages")
def pages(at: str = "", total: int = 8) -> list[Any]:
    """Say its total when it is known; answer how far the composite is then."""
    current().progress(0, total)
    current().progress_add(total / 2)
    return seen_at(at)


def seen_at(at: str) -> list[Any]:
    """How far the composite `at` is by what is stored now."""
    record = brokers.get_broker().record("default", at) if at else None
    return [] if record is None else [record.progress, record.total]


class Backfill(TaskIterator):
    """Emits so many tasks, in two batches."""

    def iterate(self, state: int | None, count: int) -> Batch | None:
        """Half of them."""
        first = state or 0
        return Batch(first + count // 2, [tell.s(number) for number in range(count // 2)]) if first < count else None


WHOLES: list[tuple[Callable[[], Any], float]] = [
    (lambda: chain(add.s(1, 2), steps.si(), tell.si()), 10),
    (lambda: group(steps.s(), group(steps.using(total=2).s(), add.s(1))), 11),
    (lambda: chain(add.s(1), pages.si(total=20)), 21),
    (lambda: chain(Backfill.s(6), add.si(1)), 7),
    (lambda: chain(Squares.s(5), add.si(1)), 6),
    (lambda: chain(Squares.s(0), Backfill.si(0)), 2),
    (lambda: group(group(), steps.s()), 8),
]


@pytest.mark.usefixtures("namespace")
@pytest.mark.parametrize(("whole", "total"), WHOLES)
def test_the_total_is_that_of_the_leaves_and_what_succeeded_stands_at_its_total(
    whole: Callable[[], Any], total: float
) -> None:
    with eager():
        assert whole().push().progress == Progress(total, total)
    handle = whole().push()
    run_worker()
    assert handle.state == "succeeded"
    assert handle.progress == Progress(total, total)


class Walk(Chain):
    """Its parts have totals of their own."""

    def init(self, count: int) -> list[Any]:
        """So many steps, each of a total of 8."""
        return [steps.si() for _ in range(count)]


class WalkLater(Group):
    """The same, side by side, read asynchronously."""

    async def init(self, count: int) -> list[Any]:
        """So many steps, of a total that the push says."""
        return [steps.using(total=3).s() for _ in range(count)]


@pytest.mark.usefixtures("namespace")
@pytest.mark.parametrize(("template", "total"), [(Walk, 16), (WalkLater, 6)])
def test_the_total_of_a_template_is_that_of_its_leaves_whose_init_may_be_async(template: Any, total: float) -> None:
    alone, within = template.push(2), chain(add.s(1, 1), template.si(2)).push()
    assert alone.progress == Progress(0, total)
    assert within.progress == Progress(0, total + 1)
    run_worker()
    assert (alone.progress, within.progress) == (Progress(total, total), Progress(total + 1, total + 1))


def test_half_of_a_leaf_shows_at_the_root_while_it_runs_eagerly() -> None:
    with eager():
        whole = group(add.s(1), steps.s("whole"), pages.s("whole", 4)).using(id="whole").push()
        assert whole.result() == [2, [5, 10], [11, 13]]


@pytest.mark.usefixtures("namespace")
def test_a_task_of_its_own_stands_at_its_total_when_it_has_succeeded() -> None:
    handles = [steps.push(), steps.using(total=0.5).push(), pages.push(), steps.using(total=None).push(), add.push(1)]
    assert [handle.progress for handle in handles] == [None] * 5
    run_worker()
    assert [handle.progress for handle in handles] == [
        Progress(8, 8), Progress(0.5, 0.5), Progress(8, 8), Progress(4), None,
    ]  # fmt: skip
    with eager():
        assert [steps.push().progress, pages.push().progress, add.push(1).progress] == [
            Progress(8, 8), Progress(8, 8), None,
        ]  # fmt: skip


@pytest.mark.usefixtures("namespace")
def test_a_retry_of_a_task_keeps_its_total() -> None:
    @task(name="tests.weights.fails", total=5, retries=0)
    def fails(wanted: bool = True) -> None:
        current().progress_add(2)
        if broken:
            raise ValueError(broken.pop())

    broken = ["no"]
    handle = fails.push()
    run_worker()
    assert (handle.state, handle.progress) == ("failed", Progress(2, 5))
    assert handle.retry()
    run_worker()
    assert (handle.state, handle.progress) == ("succeeded", Progress(5, 5))


class Stepping(MapReduce):
    """Chunks that see how far the chain is."""

    def map(self, count: int) -> range:
        """So many chunks."""
        return range(count)

    def process(self, chunk: int) -> list[Any]:
        """How far the whole is."""
        return seen_at("whole")

    def reduce(self, results: Any) -> list[Any]:
        """All of them."""
        return list(results)


@pytest.mark.usefixtures("namespace")
def test_the_chunks_of_a_map_reduce_task_count_in_its_chain() -> None:
    handle = chain(add.s(1), Stepping.si(4)).using(id="whole").push()
    run_worker()
    assert handle.result(timeout=5) == [[1, 5], [2, 5], [3, 5], [4, 5]]


@for_each("value", [0, -1, True, "8", float("inf"), float("nan"), 1e16])
def test_a_total_is_a_number_above_zero(value: Any) -> None:
    with pytest.raises(BadOption, match="total"):
        add.using(total=value)


@pytest.mark.parametrize("kind", [Squares, Count])
def test_a_class_counts_its_own_parts_and_takes_no_total(kind: Any) -> None:
    with pytest.raises(BadOption, match="the number of its parts"):
        kind.using(total=5)
