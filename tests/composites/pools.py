"""Several pools of one namespace, and the commands between them, one call at a time."""

from __future__ import annotations

import random
from collections.abc import Callable

from queueops.model.contracts import Command, Lease, Node, Outcome, Pushed, RoundTrip, Settlement, Told
from queueops.redis.broker import RedisBroker
from tests.composites.trees import Tree, nodes_of
from tests.kernel import invariants
from tests.kernel.desk import Desk, end

HOME = "default"


class Pools:
    """Desks by pool, and the post between them. No worker runs there: unless it `brings` them, commands wait."""

    def __init__(self, broker: RedisBroker, *names: str, brings: bool = False) -> None:
        self.broker = broker
        if not brings:
            vars(broker)["bring"] = lambda pool: None
        self.desks = {name: Desk(broker, name) for name in (HOME, *names)}

    def __getitem__(self, pool: str) -> Desk:
        return self.desks[pool]

    def empty(self) -> None:
        """Delete all that is in these pools."""
        for desk in self.desks.values():
            for name in desk.server.keys(f"{desk.keys.prefix}:*"):
                desk.client.delete(name)

    def plant(self, tree: Tree, **where: str) -> Pushed:
        """Push a tree; `where` names pools by id: of a task, and of those below it unless they are named, too."""
        return self.broker.plant(self.nodes(tree, **where))

    def nodes(self, tree: Tree, **where: str) -> list[Node]:
        """What is planted for it."""
        nodes = nodes_of(tree)
        for node in nodes:
            above = nodes[node.parent].push.pool if node.parent >= 0 else HOME
            node.push.pool = where.get(node.push.id, above)
        return nodes

    def state(self, task_id: str) -> str:
        """The state of a task, in whatever pool; empty when it is gone."""
        return next((found for desk in self.desks.values() if (found := desk.state(task_id))), "")

    def states(self, *ids: str) -> list[str]:
        """The states of several."""
        return [self.state(task_id) for task_id in ids]

    # The post

    def take(self, pool: str, most: int = 100) -> list[Command]:
        """Take what is due in a pool's outbox."""
        return self.broker.post(pool, take=most).taken

    def apply(self, *commands: Command) -> list[Told]:
        """Apply commands one by one, and say nothing back yet."""
        found = []
        for command in commands:
            ((word, detail),) = self.broker.post(command.to, apply=[command]).answers
            found.append(Told(command.id, command.version, word, detail))
        return found

    def tell(self, pool: str, *told: Told) -> None:
        """Say how they went."""
        self.broker.post(pool, told=told)

    def deliver(self, chance: random.Random | None = None) -> int:
        """Bring all commands until there are none; with `chance` in any order, each perhaps twice, some told late."""
        count = 0
        while found := [command for pool in self.desks for command in self.take(pool)]:
            if chance is not None:
                found += chance.choices(found, k=len(found) // 2)
                chance.shuffle(found)
            for command in found:
                count += 1
                self.tell(command.pool, *self.apply(command))
        return count

    def unlock(self, *names: str) -> None:
        """The processes that took commands of these pools died; their locks, and the waits for a retry, are over."""
        for desk in (self.desks[name] for name in names):
            if taken := desk.client.zrange(desk.keys.commands_locked, 0, -1):
                desk.client.zadd(desk.keys.commands_locked, dict.fromkeys(taken, 1))
            desk.make_due("~commands:")
            desk.tick()
            self.make_due(desk.pool)

    def make_due(self, pool: str) -> None:
        """The time of the next try has come."""
        desk = self.desks[pool]
        if waiting := desk.client.zrange(desk.keys.commands, 0, -1):
            desk.client.zadd(desk.keys.commands, dict.fromkeys(waiting, 1))
        desk.make_due("~commands:")

    def waits(self, pool: str) -> dict[str, float]:
        """How many ms each command of a pool waits."""
        desk = self.desks[pool]
        now = desk.now()
        return {key.decode(): at - now for key, at in desk.client.zrange(desk.keys.commands, 0, -1, withscores=True)}

    def errors(self, pool: str) -> list[bytes]:
        """Why commands of a pool could not be applied."""
        keys, client = self.broker.keys(pool), self.broker.client
        names = [name.decode() for name in client.zrange(keys.commands, 0, -1)]
        return [error for name in names if (error := client.hget(keys.command(name), "le"))]

    # Working

    def lease(self, pool: str, worker: str = "w1") -> Lease:
        """Claim one task, which must be there."""
        (lease,) = self.broker.exchange(pool, worker, RoundTrip(want=1)).leases
        return lease

    def settle(self, lease: Lease, outcome: Outcome = Outcome.SUCCESS, value: bytes = b"null", **values: int) -> str:
        """Settle one lease."""
        return self.desks[lease.pool].settle(lease, outcome, value, **values)

    def drain(
        self, outcome: Callable[[Lease], tuple[Outcome, bytes]] = lambda lease: (Outcome.SUCCESS, b"1"),
        chance: random.Random | None = None,
        most: int = 1,
    ) -> list[str]:  # fmt: skip
        """Run everything in all pools, at most so many of a pool at once, and bring all commands; ids in order."""
        order: list[str] = []
        while True:
            self.deliver(chance)
            leases = [
                lease for pool in self.desks for lease in self.broker.exchange(pool, "w1", RoundTrip(want=most)).leases
            ]
            if not leases:
                return order
            for lease in leases:
                order.append(lease.id)
                ended, value = outcome(lease)
                self.settle(lease, ended, value, delay_ms=-1)

    def end(self, lease: Lease, value: bytes = b"null") -> Settlement:
        """How a lease ended well."""
        return end(lease, value=value)

    # Looking

    def commands(self) -> int:
        """How many there are in all outboxes."""
        keys = [self.broker.keys(pool) for pool in self.desks]
        return sum(self.broker.client.zcard(name) for key in keys for name in (key.commands, key.commands_locked))

    def check(self) -> None:
        """Assert all invariants, of each pool and between them."""
        for desk in self.desks.values():
            invariants.check(self.broker, desk.pool, broken=desk.broken, haunted=desk.haunted)
