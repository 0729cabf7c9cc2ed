"""Tasks that read source files and write their counts to the database."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from queueops import Retry, current, task
from queueops_demo.library import modules_of, text_of
from queueops_demo.models import Reading

KEPT_ROWS = 5_000
SOON = Retry(delay=5, backoff=2, max_delay=60)


@task(name="demo.count_words", tags=["reading"], retry=SOON, timeout=30)
def count_words(path: str, tenant: str = "") -> dict[str, int]:
    """Count a source file's lines and words. A binary file fails with a UnicodeDecodeError."""
    text = text_of(path)
    counted = {"lines": text.count("\n"), "words": len(text.split())}
    Reading.objects.create(path=path, tenant=tenant, **counted)
    return counted


@task(name="demo.index_package", tags=["reading"], retry=SOON)
def index_package(package: str) -> int:
    """Push a task for each module of a package; this task is their root."""
    modules = modules_of(package)
    for path in modules:
        current().push(count_words, path)
    current().log(f"{len(modules)} modules of {package} are on their way")
    return len(modules)


@task(name="demo.survey_package", tags=["reading"], retry=SOON, timeout=60)
def survey_package(package: str) -> Iterator[tuple[str, str]]:
    """Find the most frequent word of each module. A generator: each yield is a step of its progress."""
    modules = modules_of(package)
    for number, path in enumerate(modules):
        current().progress(number, len(modules))
        words = Counter(word for word in text_of(path).split() if word.isidentifier())
        yield path, words.most_common(1)[0][0] if words else ""


@task(name="demo.refresh_totals", unique="demo:totals", on_conflict="replace_postponed", priority=20, tags=["reading"])
def refresh_totals() -> dict[str, int]:
    """Sum up the newest rows and forget the oldest. Each push replaces a waiting one."""
    newest = Reading.objects.order_by("-pk")
    if oldest_kept := newest.values_list("pk", flat=True)[KEPT_ROWS : KEPT_ROWS + 1]:
        Reading.objects.filter(pk__lte=oldest_kept[0]).delete()
    words = sum(newest.values_list("words", flat=True))
    return {"rows": newest.count(), "words": words}
