"""The tasks that the tests push."""

from __future__ import annotations

from queueops import Chain, Depends, Iterator, MapReduce, Retry, current, task

opened: list[str] = []


@task
def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b


@task()
async def add_later(a: int, b: int = 1) -> int:
    """Add two numbers, on the loop."""
    return a + b


@task()
async def count_users() -> int:
    """Ask the database, on the loop."""
    from django.contrib.auth.models import User

    return await User.objects.acount()


@task()
def count_users_plainly() -> int:
    """Ask the database."""
    from django.contrib.auth.models import User

    return User.objects.count()


@task()
def count_to(n: int):
    """Yield the numbers below n."""
    yield from range(n)


@task()
def sum_up_to(n: int):
    """Yield the numbers below n, and return their sum."""
    yield from range(n)
    return sum(range(n))


@task()
async def count_later(n: int):
    """Yield the numbers below n, on the loop."""
    for number in range(n):
        yield number


@task(retries=2)
def fail(text: str = "broken") -> None:
    """Raise, always."""
    raise ValueError(text)


@task()
async def fail_later(text: str = "broken") -> None:
    """Raise, always, on the loop."""
    raise ValueError(text)


@task()
def fail_the_test() -> None:
    """Fail the test in which it runs."""
    import pytest

    pytest.fail("as pytest-timeout does")


@task(retries=2, retry=Retry(delay=0))
def create_user(name: str, fails: bool = False) -> int:
    """Write to the database, and perhaps raise after that."""
    from django.contrib.auth.models import User

    User.objects.create(username=f"{name}{User.objects.count() if fails else ''}")
    if fails:
        raise ValueError("after the write")
    return User.objects.count()


@task()
def create_user_durably(name: str) -> int:
    """Write to the database in a durable block."""
    from django.contrib.auth.models import User
    from django.db import transaction

    with transaction.atomic(durable=True):
        User.objects.create(username=name)
    return User.objects.count()


@task(retries=2, retry=Retry(delay=0))
async def create_user_later(name: str) -> int:
    """Write to the database, on the loop."""
    from django.contrib.auth.models import User

    await User.objects.acreate(username=name)
    return await User.objects.acount()


@task(retries=0)
def leave() -> None:
    """Ask the process to end."""
    raise SystemExit


@task(retries=3, retry_on=(OSError,))
def fail_for_good() -> None:
    """Raise what is not worth another attempt."""
    raise ValueError("not again")


@task(unique=lambda user_id, **_: f"mail:{user_id}")
def mail(user_id: int, template: str = "welcome") -> str:
    """Say what would be sent."""
    return f"{template} {user_id}"


@task(unique="report:{year}:{month}")
def report(year: int, month: int = 1) -> int:
    """Have an id made of a template."""
    return year * 100 + month


def session():
    """Open and close something."""
    opened.append("open")
    try:
        yield "session"
    finally:
        opened.append("closed")


@task(retries=0)
def with_session(fail: bool = False, session: str = Depends(session)) -> str:
    """Use the session."""
    opened.append("used")
    if fail:
        raise ValueError("no")
    return session


@task()
def parent(n: int) -> str:
    """Push a child."""
    return current().push(add, n).id


@task()
def give_up(reason: str) -> None:
    """Cancel itself."""
    current().cancel(reason)


@task()
def come_again() -> int:
    """Restart once."""
    context = current()
    if context.attempt == 1:
        context.restart(0, count_attempt=True)
    return context.attempt


@task()
def unencodable() -> object:
    """Return what JSON does not have."""
    return object()


@task()
def speak_german() -> str:
    """Set the language of what it does."""
    from django.utils import translation

    translation.activate("de")
    return translation.get_language() or ""


@task()
async def speak_german_later() -> str:
    """The same, on the loop."""
    return speak_german()


class Letters(MapReduce):
    """Counts the letters of words."""

    def map(self, *words):
        yield from words

    def process(self, chunk):
        return len(chunk)

    def reduce(self, results):
        return sum(results)


class Sum(Chain):
    """Adds three numbers."""

    def init(self, a, b, c):
        return [add.s(a, b), add.s(c)]


class Nothing(Iterator):
    """Emits nothing."""

    def iterate(self, state):
        return None
