"""Each form of the old queue becomes what the corpus says, with its report; a second run changes nothing."""

from __future__ import annotations

import re
from pathlib import Path

from tests.migrate.forms import Form, forms, migrate
from tests.support.for_each import for_each

GUIDE = Path(__file__).parents[2] / "docs" / "coming-from-celery.md"
ROW = re.compile(r"^\| ((?:\\\||[^|])+?) \|", re.MULTILINE)
HEADS = {"Celery", "setting of Celery", "---"}


def offence(form: Form, system: str, folder: Path) -> str:
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
    return ""


@for_each("form", forms("celery"))
def test_each_form_of_celery_becomes_what_the_corpus_says(form, tmp_path):
    offence(form, "celery", tmp_path)


def test_each_row_of_the_guide_is_in_the_corpus():
    text = GUIDE.read_text()
    part = text[text.index("## Celery") : text.index("```python")]
    rows = set(ROW.findall(part)) - HEADS
    cited = {row for each in forms("celery") for row in each.rows}
    assert len(rows) > 35
    assert rows - cited == set()
    assert cited - rows == set()
