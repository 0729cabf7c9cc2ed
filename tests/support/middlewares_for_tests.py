"""The middlewares that the tests name in settings and in tasks."""

from __future__ import annotations

from django.core.exceptions import MiddlewareNotUsed

seen: list[str] = []


class Outer:
    """Writes down when it is entered and left."""

    def __init__(self, get_result):
        seen.append("built")
        self.get_result = get_result

    def __call__(self, run):
        seen.append(f"outer {run.id}")
        try:
            return self.get_result(run)
        finally:
            seen.append("outer left")


class Inner(Outer):
    """The same, with another name."""

    def __call__(self, run):
        seen.append(f"inner {run.id}")
        try:
            return self.get_result(run)
        finally:
            seen.append("inner left")


class AsyncInner:
    """The same on the loop."""

    def __init__(self, get_result):
        self.get_result = get_result

    async def __call__(self, run):
        seen.append(f"inner {run.id}")
        try:
            return await self.get_result(run)
        finally:
            seen.append("inner left")


class Doubling(Outer):
    """Replaces the result."""

    def __call__(self, run):
        return self.get_result(run) * 2


class AsyncDoubling:
    """The same on the loop."""

    def __init__(self, get_result):
        self.get_result = get_result

    async def __call__(self, run):
        return await self.get_result(run) * 2


class Unused:
    """Is not used."""

    def __init__(self, get_result):
        raise MiddlewareNotUsed
