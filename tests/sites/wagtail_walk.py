"""Walk through Wagtail's admin by its own pages, as an editor does; prints the tasks and what the search found.

Each transaction is held open until a worker has run what it pushed, so that a push before the commit always shows.
"""

from __future__ import annotations

import base64
import json
import sys
import time
from typing import Any
from urllib.parse import urlsplit

import django

django.setup()

from django.contrib.auth import get_user_model  # noqa: E402 - the apps must be ready first
from django.core.files.uploadedfile import SimpleUploadedFile  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.db import connection  # noqa: E402
from django.db.models.signals import post_save  # noqa: E402
from django.test import Client  # noqa: E402
from wagtail.documents import get_document_model  # noqa: E402
from wagtail.images import get_image_model  # noqa: E402
from wagtail.models import Page  # noqa: E402

from queueops import inspect  # noqa: E402

PIXEL = base64.b64decode("R0lGODlhAQABAIAAAP///wAAACH5BAAAAAAALAAAAAABAAEAAAICRAEAOw==")


def tasks() -> tuple[inspect.TaskRow, ...]:
    return inspect.tasks(inspect.TaskQuery(), limit=200).rows


def wait(seconds: float) -> bool:
    """Whether all tasks have ended within these seconds."""
    until = time.monotonic() + seconds
    while not (idle := all(row.state in ("succeeded", "failed") for row in tasks())) and time.monotonic() < until:
        time.sleep(0.02)
    return idle


def hold_open(sender: type, **_: Any) -> None:
    if connection.in_atomic_block and issubclass(sender, Page):
        wait(0.3)  # a task of an earlier commit may wait for a lock of this transaction


class Editor:
    """The client of an administrator, who waits for the tasks of each page."""

    def __init__(self) -> None:
        user = get_user_model().objects.create_superuser("editor", "editor@example.com", "secret")
        self.client = Client()
        self.client.force_login(user)

    def post(self, path: str, **fields: Any) -> None:
        answer = self.client.post(f"/admin/{path}/", fields)
        assert answer.status_code == 302, (path, answer.status_code, answer.content.decode()[-3000:])
        assert urlsplit(answer["Location"]).path.startswith("/admin/"), answer["Location"]
        assert wait(60), "the worker does not come to an end"

    def page(self, title: str) -> dict[str, str]:
        form = {"title": title, "slug": title.lower(), "action-publish": "action-publish"}
        counts = {"TOTAL_FORMS": "0", "INITIAL_FORMS": "0", "MIN_NUM_FORMS": "0", "MAX_NUM_FORMS": ""}
        return form | {f"comments-{name}": value for name, value in counts.items()}

    def found(self, word: str) -> list[str]:
        answer = self.client.get("/search/", {"query": word})
        assert answer.status_code == 200, answer.status_code
        text = answer.content.decode()
        return [page.title for page in Page.objects.filter(depth__gt=2) if f">{page.title}<" in text]


def pages(editor: Editor) -> None:
    home = Page.objects.get(depth=2)
    for title in ("Unicorn", "Griffin", "Dragon"):
        editor.post(f"pages/add/home/homepage/{home.pk}", **editor.page(title))
    unicorn, griffin, dragon = (Page.objects.get(title=title) for title in ("Unicorn", "Griffin", "Dragon"))
    editor.post(f"pages/{unicorn.pk}/edit", **editor.page("Pegasus"))
    editor.post(f"pages/{griffin.pk}/move/{unicorn.pk}/confirm")
    editor.post(f"pages/{griffin.pk}/unpublish")
    editor.post(f"pages/{dragon.pk}/delete")


def files(editor: Editor) -> None:
    editor.post("images/add", title="Dot", file=SimpleUploadedFile("dot.gif", PIXEL, "image/gif"))
    editor.post("documents/add", title="Note", file=SimpleUploadedFile("note.txt", b"hello"))
    editor.post(f"images/{get_image_model().objects.get().pk}/delete")
    editor.post(f"documents/delete/{get_document_model().objects.get().pk}")


def main() -> None:
    call_command("migrate", verbosity=0)  # here: a process of its own would load all of Wagtail once more
    editor = Editor()
    wait(60)
    post_save.connect(hold_open, weak=False)
    pages(editor)
    files(editor)
    rows = [(row.name.rpartition(".")[2], str(row.state), str(row.error)) for row in tasks()]
    found = {word: editor.found(word) for word in ("Pegasus", "Unicorn", "Dragon")}
    json.dump({"tasks": rows, "found": found}, sys.stdout)


if __name__ == "__main__":
    main()
