"""Everything that a task holds is hostile text: on no page does it become an element, an attribute or a link."""

from __future__ import annotations

import json
from collections.abc import Iterator

import msgspec.structs as struct
import pytest
from django.test import Client
from selectolax.lexbor import LexborHTMLParser, LexborNode

from console.models import AuditEntry
from queueops import inspect
from tests.console.standin import World
from tests.console.walk import PAGES, Address
from tests.support.for_each import for_each

pytestmark = pytest.mark.django_db

PAYLOADS = {
    "script": "<script>alert(1)</script><img src=x onerror=alert(2)>",
    "attribute": "\"onmouseover='alert(1)' autofocus onfocus=alert(1) x=\"'",
    "end": "</script></style></textarea></title></svg><b id=born>",
    "template": "{{7919*7919}}{% raise %}${7919*7919}<%= 1 %>",
    "address": "javascript:alert(1)//https://evil.example/",
    "unicode": "\u202egnp.exe\u2066\x00\ufeff\U0001f4a9\ud7ff",
    "svg": "<svg/onload=alert(1)><a xlink:href=javascript:alert(1)><title>",
    "entity": "&lt;script&gt;&#60;b id=born&#62;&quot;",
    "comment": "<!--><b id=born>--><![CDATA[<b id=born>",
    "long": "<b id=born>" * 1000,
}


def page_of(text: str) -> LexborNode:
    """The page as a browser reads it."""
    root = LexborHTMLParser(text).root
    assert root is not None
    return root


def elements(root: LexborNode) -> Iterator[tuple[str, dict[str, str]]]:
    """The name and the attributes of each element."""
    for node in root.traverse():
        if node.is_element_node:
            yield node.tag or "", {name: value or "" for name, value in node.attributes.items()}


def shape(root: LexborNode) -> set[tuple[str, tuple[str, ...]]]:
    """Each element with the names of its attributes: what text must not change."""
    return {(tag, tuple(sorted(attributes))) for tag, attributes in elements(root)}


def suspicious(root: LexborNode) -> list[str]:
    """What only hostile text makes; what is in a template is not looked at, so there must be none."""
    found = []
    for tag, attributes in elements(root):
        if tag in ("style", "base", "iframe", "object", "embed", "b-born", "template"):
            found.append(f"<{tag}>")
        found += [f"{name} of {tag}" for name in attributes if name.startswith("on") or name == "style"]
        if attributes.get("id") == "born":
            found.append("an element was born")
        if tag == "script" and not attributes.get("src"):
            found.append("an inline script")
        for name, value in attributes.items():
            if name.rpartition(":")[2] in ADDRESSES and not value.startswith(("/", "?", "#", "url(#")):
                found.append(value)
    return found


ADDRESSES = ("href", "src", "action", "formaction", "hx-get", "hx-post", "srcset")
"""Attributes that lead somewhere."""


def world_of(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    World(text).install(monkeypatch)
    stored = text.replace("\x00", "")[:140]
    AuditEntry.objects.update_or_create(
        pk=1,
        defaults={
            "actor_name": stored,
            "verb": stored[:40],
            "target": stored,
            "reason": stored,
            "detail": stored,
            "ids": [["default", "task-1"]],
            "filter": {stored: stored},
            "before": {"default task-1": {"state": stored}, "args": stored},
            "after": {"default task-1": {"word": stored, "state": stored, "detail": stored}},
        },
    )[0].tasks.get_or_create(pool="default", task_id="task-1")


QUARTERS = pytest.mark.parametrize("pages", [PAGES[number::4] for number in range(4)], ids=range(4))
"""Long walks in four parts, for processes beside each other."""


@QUARTERS
def test_hostile_text_gives_birth_to_nothing(
    pages: tuple[Address, ...], administrator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    world_of("harmless", monkeypatch)
    harmless = {address: shape(page_of(shown(administrator, address))) for address in map(str, pages)}
    offences = []
    for payload, text in PAYLOADS.items():
        world_of(text, monkeypatch)
        for address in pages:
            found = born(shown(administrator, str(address)), harmless[str(address)])
            offences += [f"{address}, {payload}: {found}"] if found else []
    assert offences == []


def shown(client: Client, address: str) -> str:
    answer = client.get(address.partition(" ")[2])
    assert answer.status_code == 200, address
    return answer.content.decode()


def texts(root: LexborNode) -> Iterator[str]:
    return (node.text_content or "" for node in root.traverse(include_text=True) if node.is_text_node)


def born(page: str, harmless: set[tuple[str, tuple[str, ...]]]) -> list[object]:
    """What the page has more of than the same page with harmless text."""
    root = page_of(page)
    more = {one for one in shape(root) - harmless if one[0] not in TOLERATED}
    turned = {"\u202e", "\u2066"} & set(page)
    reckoned = [text for text in texts(root) if "7919*7919" in text and "62710561" in text]
    return [*suspicious(root), *more, *turned, *reckoned]


TOLERATED = {"span", "svg", "use", "wbr"}
"""What a page may have more of: for a state or a verb that it does not know, and a break in a name behind its signs."""


@for_each("name", ["name", "state", "pool", "lane", "tag", "id", "error", "after", "kind", "nonsense"])
@for_each("payload", PAYLOADS)
def test_a_hostile_filter_gives_birth_to_nothing(name: str, payload: str, world: World, operator: Client) -> None:
    answer = operator.get("/ops/tasks/", {name: PAYLOADS[payload]})
    assert answer.status_code in (200, 400)
    assert suspicious(page_of(answer.content.decode())) == []


@for_each("payload", PAYLOADS)
def test_a_hostile_fragment_request_gives_birth_to_nothing(payload: str, world: World, operator: Client) -> None:
    text = PAYLOADS[payload][:500]
    answer = operator.get("/ops/tasks/_rows", {"shown": text, "since": text, "v": text, "after": text})
    assert answer.status_code == 200
    assert suspicious(page_of(answer.content.decode())) == []


@for_each("payload", PAYLOADS)
def test_a_hostile_login_is_shown_as_text(payload: str, client: Client) -> None:
    text = PAYLOADS[payload][:100]
    answer = client.post("/ops/login/", {"username": text, "password": text, "next": text})
    assert answer.status_code == 200
    assert suspicious(page_of(answer.content.decode())) == []


@pytest.mark.parametrize("path", ["/ops/tasks/{}/", "/ops/errors/{}/", "/ops/{}/", "/ops/audit/?before={}&verb={}"])
@for_each("payload", PAYLOADS)
def test_a_hostile_path_is_not_found_and_not_shown(path: str, payload: str, world: World, operator: Client) -> None:
    from urllib.parse import quote

    text = quote(PAYLOADS[payload][:300].encode("utf-8", "replace"))
    answer = operator.get(path.format(text, text))
    assert answer.status_code in (200, 301, 404)
    if answer.status_code != 301:
        assert suspicious(page_of(answer.content.decode())) == []


def test_what_was_found_is_shown(world: World, operator: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    world_of("<i>Bobby</i>", monkeypatch)
    assert "&lt;i&gt;Bobby&lt;/i&gt;" in operator.get("/ops/tasks/task-1/").content.decode()


@pytest.mark.parametrize(
    "path", ["/ops/", "/ops/tasks/", "/ops/errors/", "/ops/errors/f00/", "/ops/lanes/", "/ops/workers/"]
)
@for_each("payload", PAYLOADS)
def test_a_hostile_name_in_an_address_gives_birth_to_nothing(
    path: str, payload: str, world: World, administrator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = PAYLOADS[payload]
    world.start_over()
    world.states[text] = "failed"
    for question in ("lanes", "workers"):
        named = [
            struct.replace(row, **{"lane" if question == "lanes" else "id": text}) for row in getattr(world, question)()
        ]
        monkeypatch.setattr(world, question, lambda named=named, **_: inspect.Listing(named))
    world.install(monkeypatch)
    answer = administrator.get(path)
    assert answer.status_code == 200
    assert suspicious(page_of(answer.content.decode())) == []


def test_what_is_spelled_out_is_the_same_argument_when_it_is_edited(administrator: Client, world: World) -> None:
    world.text = "\u202egnp.exe"
    page = administrator.get("/ops/tasks/task-1/edit/").content.decode()
    (args,) = [area.text() for area in page_of(page).css("textarea[name=args]")]
    assert json.loads(args) == ["\u202egnp.exe", 1]
