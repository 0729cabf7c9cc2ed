"""Each form of the old queue becomes what the corpus says, with its report; a second run changes nothing."""

from __future__ import annotations

import re
from pathlib import Path

from tests.migrate.forms import Form, forms, migrate
from tests.support.for_each import for_each

GUIDE = Path(__file__).parents[2] / "docs" / "coming-from-celery.md"
ROW = re.compile(r"^\| ((?:\\\||[^|])+?) \|", re.MULTILINE)
HEADS = {"Celery", "setting of Celery", "RQ, django-rq", "Huey", "---"}


def check(form: Form, system: str, folder: Path) -> None:
    path, result = migrate(folder, system, form.before)
    after = result.changes[0].after if result.changes else form.before
    assert after == form.after, f"\n{after}"
    told = [str(note).removeprefix(f"{path}:") for note in sorted(result.notes)]
    strangers = [line for line in told if not any(line.startswith(said) for said in form.says)]
    silent = [said for said in form.says if not any(line.startswith(said) for line in told)]
    assert not strangers, "not in the corpus: " + "\n".join(strangers)
    assert not silent, "not said: " + "\n".join(silent)
    _, again = migrate(folder, system, after)
    assert not again.changes, f"a second run changes:\n{again.changes[0].after}"


EVERY = [(system, form) for system in ("celery", "rq", "huey") for form in forms(system)]
PARTS = {
    "celery": ("## Celery", "```python", 35),
    "rq": ("## RQ", "## Huey", 14),
    "huey": ("## Huey", "## Dramatiq", 10),
}


@for_each("each", EVERY)
def test_each_form_becomes_what_the_corpus_says(each, tmp_path):
    check(each[1], each[0], tmp_path)


@for_each("system", PARTS)
def test_each_row_of_the_guide_is_in_the_corpus(system):
    text = GUIDE.read_text()
    begin, end, least = PARTS[system]
    start = text.index(f"\n{begin}\n")
    rows = set(ROW.findall(text[start : text.index(end, start)])) - HEADS
    cited = {row for form in forms(system) for row in form.rows}
    assert len(rows) > least
    assert (rows - cited, cited - rows) == (set(), set())
