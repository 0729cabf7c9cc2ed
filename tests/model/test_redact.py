"""The redactor: which secrets it finds in texts and data, and that hostile text takes it no longer than other text."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from queueops.model.redact import DEEPEST, DEFAULT, HIDDEN, MASK, PATTERNS, Concealer, Redactor, mask_in
from tests.support.for_each import for_each

LONG = 1 << 17
"""Characters of a hostile text: a second look at each place would take minutes, which the time limit does not allow."""
SECRET = "hunter2"
KEPT = "kept"

TEXTS = {
    "a store's URL": f"redis://{KEPT}:{SECRET}@h:6379/0",
    "a password of a store without its colon": f"cannot reach redis://{SECRET}@{KEPT}:6379/0",
    "a password with signs of a URL": f"valkeys+cluster://{KEPT}:a/{SECRET}?b#c@d@h1,h2",
    "a URL that is cut before its host": f"cannot reach postgres://{KEPT}:{SECRET}",
    "a store's URL without a host": f"bad {KEPT} redis://u:{SECRET}/0, more",
    "a token as user of a web server": f"https://{SECRET}@example.org/{KEPT}",
    "a user and a password of a web server": f"https://ada:{SECRET}@example.org/{KEPT}",
    "a query": f"GET /{KEPT}?a=1&token={SECRET}&b=2",
    "the first of a query": f"/{KEPT}?access_token={SECRET}",
    "a signed URL": f"https://b.example.org/{KEPT}?X-Amz-Signature={SECRET}&n=1",
    "a parameter that is a word elsewhere": f"code {KEPT}: https://b.example.org/a?x=1&sig={SECRET}",
    "a parameter in JSON": json.dumps({"url": f"https://b.example.org/a?key={SECRET}&b={KEPT}"}),
    "a parameter with percent signs": f"https://b.example.org/{KEPT}?s%69g={SECRET}&to%6Ben={SECRET}",
    "a parameter in HTML": f'<a href="https://b.example.org/?a=1&amp;hmac={SECRET}">{KEPT}</a>',
    "a keyword argument": f"connect(password='{SECRET}', host={KEPT!r})",
    "an argument without quotes": f"password={SECRET} {KEPT}",
    "an assignment": f'os.environ["DB_PASSWORD"] = "{SECRET}"; {KEPT}',
    "a line of YAML": f"  api-key: {SECRET}\n{KEPT}: 1",
    "JSON": f'{{"apiKey": "{SECRET}", "a": "{KEPT}"}}',
    "JSON with a quote in the value": f'{{"secret": "a\\"{SECRET}", "a": "{KEPT}"}}',
    "JSON in a string of JSON": json.dumps({"body": json.dumps({"apikey": SECRET, "a": KEPT})}),
    "JSON twice in a string": json.dumps(json.dumps({"body": json.dumps({"token": f'a"{SECRET}', "a": KEPT})})),
    "an object as value": f'{{"credentials": {{"a": ["x", "{SECRET}"]}}, "a": "{KEPT}"}}',
    "an object that is cut": f'{KEPT} {{"credentials": {{"a": ["x", "{SECRET}"',
    "a text that is cut in a value": f"{KEPT} password='{SECRET}",
    "a pair": f"[('token', '{SECRET}'), ('a', '{KEPT}')]",
    "an object that is a pair": f'{{"name": "password", "value": "{SECRET}"}} {KEPT}',
    "an option of a command": f"curl --api-key {SECRET} {KEPT}",
    "an option with a sign": f"curl --token={SECRET} {KEPT}",
    "a header": f"Authorization: Digest a={SECRET}, b\n{KEPT}",
    "cookies": f"Cookie: a=1; b={SECRET}\r\n{KEPT}",
    "a bearer's token": f"sent Bearer {SECRET}{SECRET}{SECRET} to {KEPT}",
    "a signed token": f"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0{SECRET}.{SECRET} {KEPT}",
    "a private key": f"{KEPT}\n-----BEGIN RSA PRIVATE KEY-----\n{SECRET}\n-----END RSA PRIVATE KEY-----",
    "a private key that is cut": f"{KEPT} -----BEGIN PRIVATE KEY-----\n{SECRET}",
    "a quoted value behind a word": f"the password '{SECRET}' is wrong, {KEPT}",
    "bytes": f"{KEPT}, token=b'{SECRET}'",
    "a value with closing brackets": f"password=ab}}{SECRET} {KEPT}",
    "a value with several of them": f"connect(password=a)]{SECRET}), {KEPT}",
    "a value that begins with a bracket": f"password=[x]{SECRET} {KEPT}",
    "an encoded query": f"/login%3Ftoken%3d{SECRET}&{KEPT}",
}


@for_each("what", TEXTS)
def test_a_secret_in_a_text_is_masked_and_the_rest_stays(what: str) -> None:
    shown = DEFAULT.text(TEXTS[what])
    assert SECRET not in shown
    assert KEPT in shown


@for_each(
    "text",
    [
        "redis://host:6379/0",
        "redis://[::1]/0",
        "redis+sentinel://a:26379,b:26379/primary",
        "see https://host:8000/users/@me",
        "ssh://git@example.org/x",
        "KeyError: 'password'",
        "the token was refused",
        "basic information about cookies",
        "ValueError: 3 tokens are too many",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert DEFAULT.text(text) == text


SHORT_NAMES = ("pass", "PASS", "db_pass", "smtp-pass", "user.pass", "pass2", "dbPass", "pw", "PW", "db_pw", "pw_old")
LONGER_WORDS = ("passed", "passes", "passenger", "bypass", "compass", "passive", "spw", "pwm", "Bypass", "dbPassed")


@for_each("name", SHORT_NAMES)
def test_a_short_word_hides_as_a_whole_part_of_a_name(name: str) -> None:
    assert DEFAULT.value({name: SECRET, "a": KEPT}) == {name: MASK, "a": KEPT}
    for text in (
        f"{name}={SECRET} {KEPT}",
        f'{{"{name}": "{SECRET}", "a": "{KEPT}"}}',
        f"curl --{name} {SECRET} {KEPT}",
    ):
        assert SECRET not in DEFAULT.text(text)
        assert KEPT in DEFAULT.text(text)


@for_each("name", LONGER_WORDS)
def test_a_short_word_within_a_longer_one_hides_nothing(name: str) -> None:
    words = Redactor(("_pass_", "_pw_"))
    assert words.value({name: KEPT}) == {name: KEPT}
    assert words.text(f"{name}={KEPT}, --{name} {KEPT}") == f"{name}={KEPT}, --{name} {KEPT}"


def test_a_short_word_in_a_sentence_hides_no_quotation() -> None:
    assert (
        DEFAULT.text("the tests pass 'twice', so pass \"a\" to b()") == "the tests pass 'twice', so pass \"a\" to b()"
    )


def test_in_data_pairs_and_texts_are_masked_too() -> None:
    data = {
        "headers": [["Authorization", SECRET], ["Host", KEPT]],
        "env": [{"name": "API_KEY", "value": SECRET}, {"name": "HOME", "value": KEPT}],
        "argv": ["tool", "--password", SECRET, "--verbose", KEPT],
        "body": json.dumps({"apikey": SECRET, "a": KEPT}),
        "dsn": f"amqp://{KEPT}:{SECRET}@h",
        f"redis://u:{SECRET}@h": KEPT,
        "apikey": {"old": SECRET},
    }
    shown = json.dumps(DEFAULT.value(data))
    assert SECRET not in shown
    assert shown.count(KEPT) == 6
    assert SECRET not in DEFAULT.call(json.dumps([["password", SECRET], {}]).encode())


def test_the_patterns_are_those_of_the_setting_and_their_words_are_joined_in_any_way() -> None:
    redactor = Redactor(("pin_code",))
    for name in ("pin_code", "PinCode", "pin-code", "my.pin code.now"):
        assert redactor.hides(name)
        assert redactor.text(f"{name}={SECRET}") == f"{name}={MASK}"
    assert redactor.text(f"password={SECRET}") == f"password={SECRET}"
    assert Redactor(()).text(f"password={SECRET} redis://u:{SECRET}@h") == f"password={SECRET} redis://u:***@h"


@for_each(
    "text",
    ["https://{}@h/", "https://ann:{}@h/", "amqp://ann:{}@h", "redis://:{}@h", '{{"to": "http://h?a=1&sig={}"}}',
     "http://h/?token={}&b=2", "password={}", '{{"token": "{}"}}'],
)  # fmt: skip
def test_a_mask_is_found_in_a_text_that_was_shown_and_not_in_its_source(text: str) -> None:
    source = text.format(SECRET)
    assert mask_in(source) == ""
    assert mask_in(Redactor(PATTERNS).text(source)) in (MASK, "***")
    assert [mask_in("?q=***&b=1;c=***", names.__contains__) for names in ({"q"}, {"c"}, set())] == ["***", "***", ""]
    assert [mask_in(other) for other in ("***", "a ***@b", "https://h/***", "?q=***x", "2 *** 3")] == [""] * 5


def test_masked_json_is_still_json() -> None:
    text = json.dumps({"password": SECRET, "token": 'a"b', "list": [{"secret": "x"}], "n": 1})
    assert json.loads(DEFAULT.text(text)) == {"password": MASK, "token": MASK, "list": [{"secret": MASK}], "n": 1}


PIECES = [
    "password",
    "token",
    "=",
    ": ",
    '"',
    "'",
    "\\",
    "://",
    "redis",
    "@",
    "[",
    "}",
    "(",
    ",",
    " ",
    "-",
    "x",
    "?",
    "&",
]


@settings(max_examples=500)
@given(
    st.lists(st.sampled_from([*PIECES, "PRIVATE KEY-----", "-----END", "bearer ", "eyJ", "\n", "é", "İ"])).map("".join)
)
@example('password="')
@example("&password: [x}://")
@example("?token=[x]y://redis")
@example("redis://u:x")
@example("https://a:")
def test_what_is_masked_once_is_masked(text: str) -> None:
    shown = DEFAULT.text(text)
    assert DEFAULT.text(shown) == shown


HOSTILE = [
    *("a.", "a-", "a://", "redis://", "redis://a:", "http://u:", "http://a:b@", "@", ":", "\\", " ", "x", "("),
    *("password", "passwor", "password ", "password=", 'password="', "password='\\", "password\\\\", "passwordx"),
    *("token=[", 'token=["', '{"token":{', "token=(", "token=a&", "--token ", '"password", ', "Cookie: ", "%3d"),
    *("eyJ", "eyJaaaaaaaaaa.", "bearer ", "PRIVATE KEY-----", "-----END", "İpassword=", "api_", "api key"),
]


@pytest.mark.timeout(60)
@pytest.mark.parametrize("before", ["", "token=", "redis://"])
@for_each("piece", HOSTILE)
def test_a_long_hostile_text_is_read_in_one_pass(piece: str, before: str) -> None:
    text = before + piece * (LONG // len(piece))
    assert len(DEFAULT.text(text)) < 12 * LONG


@pytest.mark.timeout(60)
def test_long_hostile_data_is_read_in_one_pass() -> None:
    for value in (
        [["token=a"]] * (LONG // 12),
        {f"password{n}": n for n in range(LONG // 20)},
        "password=" * (LONG // 9),
    ):
        assert MASK in DEFAULT.document(json.dumps(value).encode())


@pytest.mark.parametrize("depth", [DEEPEST - 1, DEEPEST + 5])
def test_what_lies_too_deep_is_masked_whole(depth: int) -> None:
    value: Any = SECRET
    for _ in range(depth):
        value = [value]
    assert (SECRET in json.dumps(DEFAULT.value(value))) is (depth < DEEPEST)


TRACEBACK = f"""Traceback (most recent call last):
  File "/srv/shop/orders.py", line 12, in Order.<locals>.pay
    raise ValueError("{SECRET}")
ValueError: {SECRET}
  File "{SECRET};", line 1, in x
During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/srv/shop/orders.py", line 9, in <module>
    pay("{SECRET}")
    ^^^^^^^^^^^^
{SECRET}: odd
"""


def test_who_may_not_see_arguments_gets_the_places_of_an_error_alone() -> None:
    concealer = Concealer(PATTERNS)
    assert concealer.traceback(TRACEBACK).splitlines() == [
        "Traceback (most recent call last):",
        '  File "/srv/shop/orders.py", line 12, in Order.<locals>.pay',
        "During handling of the above exception, another exception occurred:",
        "Traceback (most recent call last):",
        '  File "/srv/shop/orders.py", line 9, in <module>',
    ]
    assert (concealer.message("x"), concealer.words_of_task("x"), concealer.words_of_task("")) == ("", HIDDEN, "")
    assert (concealer.call(b"[[1],{}]"), concealer.document(b"1")) == ("", "")


@pytest.mark.timeout(60)
def test_the_places_in_a_long_hostile_traceback_are_found_in_one_pass() -> None:
    for piece in ('  File "', " ", '  File "a", line 1, in x\n', "|  ", "\n", 'File "a" '):
        Concealer(PATTERNS).traceback(piece * (LONG // len(piece)))


@pytest.mark.parametrize("behind", [": order-4711", " order-4711"])
def test_a_line_of_a_traceback_that_says_more_than_a_place_is_not_shown(behind: str) -> None:
    line = '  File "shop/tasks.py", line 7, in bill'
    assert Concealer(PATTERNS).traceback(f"{line}\n{line}{behind}\n    bill('order-4711')") == line
