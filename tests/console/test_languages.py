"""Languages: the browser's or the user's choice; no text, number or date of one user's language on another's page."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import translation
from django.utils.translation import override

from console.models import AuditEntry
from console.templatetags import history
from console.ui import formatting, language
from console.ui.times import exact
from tests.console.standin import World

pytestmark = pytest.mark.django_db
GERMAN = {"Accept-Language": "de"}
N = formatting.NARROW


def lang_of(page: str) -> str:
    (found,) = re.findall(r'<html lang="([^"]*)"', page)
    return str(found)


def test_the_browser_chooses_and_the_users_choice_wins(world: World, operator: Client) -> None:
    def page(path: str = "/ops/tasks/", **sent: str) -> str:
        return operator.get(path, headers=sent).content.decode()

    assert lang_of(page()) == lang_of(page(**{"Accept-Language": "fr"})) == "en"
    assert lang_of(page(**{"Accept-Language": "fr, de-AT;q=0.9, en;q=0.5"})) == "de"
    assert re.findall(r'<option value="(\w+)" lang="\w+"( selected)?>(\w+)', page()) == [
        ("en", " selected", "English"),
        ("de", "", "Deutsch"),
    ]
    answer = operator.post("/ops/settings/_save", {"language": "de", "next": "/ops/lanes/"})
    assert (answer.status_code, answer.headers["Location"]) == (302, "/ops/lanes/")
    assert lang_of(page(**{"Accept-Language": "en"})) == "de"
    operator.cookies["django_language"] = "DE"  # another page of the project may write it so
    assert lang_of(page()) == "de"
    operator.post("/ops/settings/_save", {"language": "xx", "next": "/ops/lanes/"})
    assert lang_of(page()) == "de"
    operator.post("/ops/settings/_save", {"language": "en", "next": "//evil.example/"})
    assert lang_of(page(**GERMAN)) == "en"


def test_the_choice_is_a_form_with_a_token(world: World, db: None) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(User.objects.create_superuser("ada"))
    assert client.post("/ops/settings/_save", {"language": "de"}).status_code == 403
    assert lang_of(client.get("/ops/").content.decode()) == "en"


def test_a_project_without_the_middleware_has_the_choice(world: World, operator: Client, settings: Any) -> None:
    settings.MIDDLEWARE = [name for name in settings.MIDDLEWARE if "PageLanguage" not in name]
    assert lang_of(operator.get("/ops/", headers=GERMAN).content.decode()) == "en"
    operator.post("/ops/settings/_save", {"language": "de", "next": "/ops/"})
    assert lang_of(operator.get("/ops/").content.decode()) == "de"


def test_a_project_without_translations_has_english_words_and_numbers(
    world: World, operator: Client, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.USE_I18N, settings.LANGUAGE_CODE = False, "ar"
    monkeypatch.setattr(translation, "_trans", type(translation._trans)())
    page = operator.get("/ops/").content.decode()
    assert lang_of(page) == "en"
    assert not re.search(r'dir="rtl"|name="language"', page)
    assert (formatting.count(12345), formatting.span(1500), language.offered()) == ("12,345", f"1.5{N}s", [])


def test_only_languages_with_a_catalog_are_offered(settings: Any, tmp_path: Any) -> None:
    settings.LANGUAGES = [("en-gb", "English"), ("fr", "French"), ("de-at", "Austrian German"), ("xx", "Ours")]
    assert [code for code, _name in language.offered()] == ["en-gb", "de-at"]
    folder = tmp_path / "xx/LC_MESSAGES"
    folder.mkdir(parents=True)
    words = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\nmsgid "Operations console"\nmsgstr "X"\n'
    (folder / "django.po").write_text(words)
    from tests.repository.catalogs import compiled

    (folder / "django.mo").write_bytes(compiled(folder / "django.po"))
    settings.LOCALE_PATHS = [tmp_path]
    assert language.offered()[-1] == ("xx", "Ours")


def test_a_fallback_of_the_project_is_no_catalog(world: World, operator: Client, settings: Any) -> None:
    """Django fills what a language lacks from LANGUAGE_CODE, which would mix three languages on a page."""
    settings.LANGUAGES, settings.LANGUAGE_CODE = [("de", "German"), ("fr", "French")], "de"
    page = operator.get("/ops/tasks/", headers={"Accept-Language": "fr"}).content.decode()
    assert lang_of(page) == "en"
    assert "Skip to content" in page


def words_of(page: str) -> set[str]:
    """The words that a page shows; not those of times, which grow old."""
    return set(re.findall(r"[A-Za-zäöüÄÖÜß]{4,}", " ".join(re.findall(r">([^<>]+)<", page)))) - {"jetzt"}


@pytest.mark.parametrize(
    ("path", "live"), [("/ops/", "_overview"), ("/ops/tasks/", "tasks/_rows"), ("/ops/workers/", "workers/_rows")]
)
def test_two_browsers_share_readings_and_no_words(path: str, live: str, world: World, operator: Client) -> None:
    """Both see the same second: what is kept of the first answer is not the words of its language."""
    texts = {}
    for turn in ("de", "en", "de", "en"):
        sent = {"Accept-Language": turn}
        page = operator.get(path, headers=sent).content.decode()
        (address,) = re.findall(rf'hx-get="(/ops/{live}[^"]+)"', page)
        fresh = operator.get(address.replace("&amp;", "&").replace("v=", "v=x"), headers=sent).content.decode()
        status = operator.get("/ops/_status", headers=sent).content.decode()
        told = [words_of(text) for text in (page, fresh, status)]
        assert texts.setdefault(turn, told) == told
    assert {"content", "Inhalt"} & texts["en"][0] == {"content"}
    assert {"content", "Inhalt"} & texts["de"][0] == {"Inhalt"}
    assert all(english != german for english, german in zip(texts["en"][:2], texts["de"][:2], strict=True))


def test_a_time_that_is_kept_is_of_its_language() -> None:
    told = []
    for code in ("en", "de", "en"):
        with override(code):
            told.append(history.step_time(1_764_424_803_123))
    assert told == ["2025-11-29 14:00", "29.11.2025 14:00", "2025-11-29 14:00"]


def test_numbers_and_dates_are_written_as_the_language_does(world: World) -> None:
    with override("de"):
        assert formatting.count(1_234_567) == "1.234.567"
        assert [formatting.short(12_345), formatting.rate(4.26), formatting.rate(0.001)] == ["12,3k", "4,3", "<0,01"]
        assert [formatting.percent(0.0123), formatting.share(0.012)] == [f"1,2{N}%", f"1,2{N}%"]
        assert [formatting.span(1240), formatting.size(1_240_000)] == [f"1,2{N}s", f"1,24{N}MB"]
        assert exact(1_764_424_803_123) == "29.11.2025 14:00:03,123 UTC"
        assert formatting.ago(95_000, 100_000) == f"vor 5{N}s"
    with override("en"):
        assert exact(1_764_424_803_123) == "2025-11-29 14:00:03.123 UTC"


def test_what_programs_read_is_in_no_language(world: World, operator: Client) -> None:
    pages = [operator.get("/ops/tasks/task-1/", headers={"Accept-Language": code}) for code in ("en", "de")]
    english, german = (page.content.decode() for page in pages)
    for pattern in (r'datetime="[^"]+"', r'data-ms="[^"]+"', r'href="/ops/[^"?]*"', r'name="[^"]+"', r' id="[^"]+"'):
        assert re.findall(pattern, german) == re.findall(pattern, english)


def test_the_audit_log_is_stored_in_one_language(world: World, administrator: Client) -> None:
    """Users of several languages read it: what the catalog has as a whole is translated when it is shown."""
    form = {"task": ["default task-1", "default a/b:c"], "confirmed": "2", "next": "/ops/tasks/"}
    administrator.post("/ops/tasks/_cancel", form, headers=GERMAN)
    entry = AuditEntry.objects.get()
    assert entry.target == "2 tasks"
    AuditEntry.objects.update(detail="it was undone before its end")
    pages = [
        administrator.get("/ops/audit/", headers={"Accept-Language": code}).content.decode() for code in ("de", "en")
    ]
    assert ["it was undone before its end" in page for page in pages] == [False, True]
