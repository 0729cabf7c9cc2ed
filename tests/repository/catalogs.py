"""Catalogs of translations: messages of the sources, merged into each language's `.po` file and compiled to `.mo`.

`python -m tests.repository.catalogs` updates all languages; with a code, such as `pt-br`, it begins one. Django's own
`makemessages` extracts the messages, so the machine needs GNU gettext. The rest is done by Babel.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterator
from contextlib import chdir
from datetime import UTC, datetime
from io import BytesIO, StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

from babel.messages.catalog import Catalog, Message
from babel.messages.mofile import write_mo
from babel.messages.plurals import get_plural
from babel.messages.pofile import read_po, write_po
from django.core.management.commands import makemessages
from django.utils.translation import to_locale

from queueops.model.explained import patterns

ROOT = Path(__file__).resolve().parents[2]
LOCALE = ROOT / "console/locale"
SOURCES = ("console", "queueops", "queueops_demo", "templates")
HAS_XGETTEXT = shutil.which("xgettext") is not None
HEADER = r"""# Translation of the console. `python -m tests.repository.catalogs` adds new messages and removes old ones.
msgid ""
msgstr ""
"Language: {locale}\n"
"MIME-Version: 1.0\n"
"Content-Type: text/plain; charset=UTF-8\n"
"Content-Transfer-Encoding: 8bit\n"
"Plural-Forms: {plural}\n"
"""
PLACEHOLDER = re.compile(r"%\(\w+\)[-+#0 .\d]*[a-zA-Z]|%%|%[-+#0 .\d]*[sdrfi]|\{\w*\}")
TAG = re.compile(r"</?[a-z][^>]*>")

Key = tuple[str | None, str]
"""Context and message, which identify an entry; of a plural, its singular."""


class Extraction(makemessages.Command):
    """Django's `makemessages`, which also takes the sentences of the engine."""

    xgettext_options = [
        *makemessages.Command.xgettext_options,
        "--keyword=say:1",
        "--keyword=say_n:1,2",
        "--keyword=marked:1",
    ]


def extracted() -> Catalog:
    """The messages of the sources. A copy is read: `makemessages` writes files beside the templates."""
    with TemporaryDirectory() as folder:
        for name in SOURCES:
            shutil.copytree(ROOT / name, Path(folder, name), ignore=_others)
        Path(folder, "queueops/error_messages.py").write_text("".join(f"say({text!r})\n" for text in patterns()))
        target = Path(folder, "locale")
        target.mkdir()
        with chdir(folder):
            command = Extraction(stdout=StringIO(), stderr=StringIO())
            command.run_from_argv(["manage.py", "makemessages", "--locale=en"])
        return read(target / "en/LC_MESSAGES/django.po")


def _others(folder: str, names: list[str]) -> list[str]:
    return [name for name in names if not name.endswith((".py", ".html")) and not Path(folder, name).is_dir()] + [
        name for name in names if name in ("__pycache__", "locale")
    ]


def catalogs() -> dict[str, Path]:
    """The `.po` file of each language."""
    return {path.parts[-3]: path for path in sorted(LOCALE.glob("*/LC_MESSAGES/django.po"))}


def read(path: Path) -> Catalog:
    """The entries of a `.po` file."""
    with path.open("rb") as file:
        return read_po(file)


def merged(known: Catalog, found: Catalog) -> Catalog:
    """The messages that were found, each with its translation if it is known."""
    made = Catalog()
    for message in found:
        if message.id:
            old = known.get(message.id, message.context)
            if old and isinstance(old.id, str) != isinstance(message.id, str):  # it has become a plural, or none
                old = None
            made.add(
                message.id,
                old.string if old else None,
                locations=[(place, None) for place in sorted({name for name, _line in message.locations})],
                flags=set(message.flags) - {"fuzzy"} | (set(old.flags) & {"fuzzy"} if old else set()),
                user_comments=old.user_comments if old else (),
                auto_comments=message.auto_comments,
                context=message.context,
            )
    return made


def written(catalog: Catalog, header: str) -> str:
    """The text of a `.po` file: sorted, without line numbers, so that its changes are small."""
    made = BytesIO()
    write_po(made, catalog, width=0, omit_header=True, sort_output=True, include_lineno=False)
    return f"{header.rstrip()}\n\n{made.getvalue().decode().strip()}\n"


def compiled(path: Path) -> bytes:
    """The `.mo` file of a `.po` file; its header has no time, so that the same words are the same file."""
    catalog, made = read(path), BytesIO()
    catalog.creation_date = datetime.fromtimestamp(0, UTC)
    write_mo(made, catalog)
    return made.getvalue()


def update(locale: str, found: Catalog) -> None:
    """Merge the messages into the catalog of this language, which is made if there is none."""
    path = LOCALE / locale / "LC_MESSAGES/django.po"
    if not path.exists():
        path.parent.mkdir(parents=True)
        path.write_text(HEADER.format(locale=locale, plural=get_plural(locale).plural_forms))
    header = path.read_text().partition("\n\n")[0]
    path.write_text(written(merged(read(path), found), header))
    path.with_suffix(".mo").write_bytes(compiled(path))


def entries(catalog: Catalog) -> dict[Key, Message]:
    """The entries by their keys, without the header."""
    return {(each.context, each.id if isinstance(each.id, str) else each.id[0]): each for each in catalog if each.id}


def faults(catalog: Catalog) -> Iterator[str]:
    """What is wrong with entries: not translated, fuzzy, or with other placeholders, tags or line ends."""
    for (_context, text), message in entries(catalog).items():
        texts = message.id if isinstance(message.id, tuple) else (message.id,)
        given = message.string if isinstance(message.string, tuple) else (message.string,)
        if message.fuzzy or not all(given):
            yield f"not translated: {text!r}"
            continue
        wanted = [_parts(each) for each in texts]
        for each in given:
            if _parts(each) not in wanted:
                yield f"other placeholders, tags or ends: {text!r} -> {each!r}"


def _parts(text: str) -> tuple[list[str], list[str], str, str]:
    """What a translation must have as its message has it."""
    begin, end = text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :]
    return sorted(PLACEHOLDER.findall(text)), sorted(TAG.findall(text)), begin, end


def main(*begun: str) -> None:
    """Update all languages, and begin those that are named."""
    found = extracted()
    for locale in sorted({*catalogs(), *map(to_locale, begun)}):
        update(locale, found)
        wrong = list(faults(read(catalogs()[locale])))
        print(f"{locale}: {len(entries(found))} messages", *wrong, sep="\n  ")


if __name__ == "__main__":
    main(*sys.argv[1:])
