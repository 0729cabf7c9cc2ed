"""Untranslated texts: each word of a page stands in a tag of translation, and no sentence is glued from pieces."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

from django.utils.translation import override

from console.kinds.mapreduce import chunk_appearance
from console.kinds.workflows import run_words, story
from console.kinds.workflows.run_graph import FROM_OUTSIDE
from console.templatetags.console import WORKER_ICONS
from console.ui import state_badges, stored_words
from console.ui.kind_pages import states_of_kinds
from queueops.kinds.mapreduce.states import ChunkState
from queueops.kinds.workflows.inspect.run_calls import KINDS
from queueops.kinds.workflows.inspect.run_spans import BEGINS, DROPPED, ENDS, OPEN
from queueops.model.states import table
from queueops.tasks import follow_up
from tests.support.for_each import for_each

ROOT = Path(__file__).resolve().parents[2]
LUA = sorted((ROOT / "queueops").rglob("*.lua"))
KIND_OF_LINE = re.compile(r"(?:log_line|log_end)\([^{]*{ k = '([^']+)'")
TEMPLATES = {
    path.relative_to(ROOT / "templates/console").as_posix(): path
    for path in sorted((ROOT / "templates/console").rglob("*.html"))
}
SOURCES = {path.relative_to(ROOT).as_posix(): path for path in sorted((ROOT / "console").rglob("*.py"))}

SAME = {"QueueOps", "Python", "JSON", "Ctrl", "Enter", "order", "state", "failed", "name", "shop", "age", "host"}
"""Names, and words of examples in placeholders, which are the same in all languages."""
CODE = ("code", "pre", "kbd", "script", "style")
"""Elements whose text is code or a key."""
READ = ("aria-label", "title", "placeholder", "alt", "aria-roledescription")
"""Attributes that are read to the user."""
MESSAGE = re.compile(r"{%\s*blocktrans(?:late)?\b.*?{%\s*endblocktrans(?:late)?\s*%}", re.DOTALL)
COMMENT = re.compile(r"{%\s*comment\b.*?{%\s*endcomment\s*%}|{#.*?#}", re.DOTALL)
TAG = re.compile(r"{%.*?%}|{{.*?}}", re.DOTALL)
WORD = re.compile(r"[^\W\d_]{2,}")
GLUED = re.compile(
    r"""(?:{%\s*translate\s+(["'])(?:(?!\1).)*[^\W\d_]\1\s*%}|[^\W\d_]{%\s*endblocktrans(?:late)?\s*%})[ ]
        (?:{{|{%\s*(?:ago|since|exact|exact_second|state)\b|<(?:a|code)\b)""",
    re.VERBOSE,
)
"""A translated word and a value behind it, with a space: other languages order and inflect them as one message."""
LABELS = {"mapreduce/list.html": 1, "views/navigation.html": 1}
"""Labels with a link behind them that is an icon."""
ALIAS = re.compile(r"gettext(?:_lazy)? as (?!_\b)\w+")
"""A name of gettext that `makemessages` does not know: its messages are in no catalog."""
CHANGED = re.compile(r"""\b_\([^()]*\)\.(?:lower|upper|capitalize|title)\(|f["'][^"'\n]*{_\(""")
"""A translated text whose letters are changed, or that stands inside of another text."""


class Reader(HTMLParser):
    """The texts of a page that a user reads, in their order; those of code are left out."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self._code = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._code += tag in CODE
        self.texts += [value or "" for name, value in attrs if name in READ]

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.texts += [value or "" for name, value in attrs if name in READ]

    def handle_endtag(self, tag: str) -> None:
        self._code -= tag in CODE

    def handle_data(self, data: str) -> None:
        if not self._code:
            self.texts.append(data)


def raw_words(page: str) -> list[str]:
    """The words of a template outside of the tags of translation."""
    reader = Reader()
    for pattern in (COMMENT, MESSAGE, TAG):
        page = pattern.sub(" ", page)
    reader.feed(page)
    reader.close()
    return [word for text in reader.texts for word in WORD.findall(text) if word not in SAME]


def glued(page: str) -> list[str]:
    """Where a value stands behind a translated word."""
    return [match[0] for match in GLUED.finditer(page)]


@for_each("name", TEMPLATES)
def test_each_word_of_a_template_is_translated(name: str) -> None:
    assert raw_words(TEMPLATES[name].read_text()) == [], "put it into {% translate %} or {% blocktranslate %}"


@for_each("name", TEMPLATES)
def test_no_template_glues_a_value_to_a_translated_word(name: str) -> None:
    found = glued(TEMPLATES[name].read_text())
    assert len(found) == LABELS.get(name, 0), f"make one message, {{% blocktranslate with value=... %}}: {found}"


@for_each("name", SOURCES)
def test_no_code_hides_a_message_changes_it_or_puts_it_into_another_text(name: str) -> None:
    text = SOURCES[name].read_text()
    assert [match[0] for pattern in (CHANGED, ALIAS) for match in pattern.finditer(text)] == []


def test_each_stored_word_that_pages_show_has_a_label() -> None:
    own = [state for state, pages in states_of_kinds().items() if pages.label]
    assert {*table().states} <= {*state_badges.LABELS, *own}
    assert {*ChunkState} == {*chunk_appearance.LABELS}
    assert {*WORKER_ICONS} == {*stored_words.WORKERS}
    lines = {kind for path in LUA for kind in KIND_OF_LINE.findall(path.read_text())}
    assert {*lines, "unreadable"} <= {*stored_words.LINES, *stored_words.worker_words()}
    assert {*story.words()} == {*run_words.ENTRIES}
    assert {*follow_up.OUTCOMES} == {*stored_words.OUTCOMES}
    assert {*KINDS.values(), *BEGINS.values(), *FROM_OUTSIDE} == {*run_words.COMMANDS}
    assert {*ENDS, DROPPED, OPEN} <= {*run_words.OUTCOMES}
    assert chunk_appearance.label("") == run_words.outcome("gone") == state_badges.label("gone") == "gone"
    assert stored_words.attempt("of-a-newer-version") == "of-a-newer-version"


def test_raw_words_and_glued_values_are_found() -> None:
    page = '<p title="Raw">{% translate "Own" %} <b{% if x %} class="bad"{% endif %}>words</b> <code>code</code>'
    assert raw_words(page) == ["Raw", "words"]
    assert raw_words("{% blocktranslate count n=n %}one{% plural %}many{% endblocktranslate %} {# no word #}") == []
    assert glued(
        '{% translate "since" %} {% ago ms %}{% translate "Run:" %} {{ id }}{{ id }} {% translate "x y" %}'
    ) == ['{% translate "since" %} {% ago']
    assert glued("{% blocktranslate %}in pool{% endblocktranslate %} {{ pool }}") == ["l{% endblocktranslate %} {{"]
    assert CHANGED.search('f"{_("no")} tasks"')
    assert CHANGED.search('_("Retry").lower()')
    assert ALIAS.findall("import gettext as _text, gettext as _, gettext_lazy as _") == ["gettext as _text"]


def test_facts_of_workers_are_in_the_language_of_the_reader() -> None:
    told = ("serves", "jobs and callbacks", "disk", "27 % full, jobs wait", "kept runs", "1,234", "of-another-kind")
    assert [stored_words.fact(each) for each in told] == list(told)
    with override("de"):
        shown = [stored_words.fact(each) for each in told]
    assert shown[3] == "zu 27 % voll, Jobs warten"
    assert shown[5:] == ["1.234", "of-another-kind"]
    assert not {*shown[:3], shown[4]} & {*told}
