"""The filter grammar: what a text means, that each spelling means the same, and that errors say what to write."""

from __future__ import annotations

import pytest

from queueops import control, inspect
from queueops.errors import FilterError
from queueops.inspect import Count, TaskQuery, parse_filter
from queueops.inspect.redaction import concealing
from queueops.model.contracts import Outcome
from tests.inspecting.errors import stored
from tests.inspecting.test_lists import ids
from tests.kernel.desk import Desk
from tests.support.monitoring import counted_trips

FACETS = [
    ("state:failed name:shop.charge", TaskQuery(state="failed", name="shop.charge")),
    ("  state:running  ", TaskQuery(state="locked")),
    ("tag=vip lane:bulk", TaskQuery(tag="vip", lane="bulk")),
    ('text:"order 4711" pool:mail', TaskQuery(contains="order 4711", pool="mail")),
    ("error:0123456789abcdef", TaskQuery(error="0123456789abcdef")),
    ("name:a name:b", TaskQuery(name="a", q="name:b")),
    ("name:shop.* state:failed", TaskQuery(state="failed", q="name:shop.*")),
    ("STATE:failed AND -lane:bulk", TaskQuery(state="failed", q="-lane:bulk")),
    ("not (lane:a or lane:b)", TaskQuery(q="-(lane:a or lane:b)")),
    ("state:failed,running", TaskQuery(state="locked,failed")),
    ("(state:failed or state:retry) name:a", TaskQuery(state="restart,failed", name="a")),
    ("state:failed or state:done or state:canceled", TaskQuery(state="finished")),
    ("(state:failed or tag:a or state:finished)", TaskQuery(q="(state:finished or tag:a)")),
    ("-(state:failed or state:running)", TaskQuery(q="-state:locked,failed")),
    ("kind:chain,group", TaskQuery(q="(kind:chain or kind:group)")),
    ("kind:,", TaskQuery(kind=",")),
    ("age:>10m", TaskQuery(q="age>10m")),
    ("kind:chain (tag:a tag:b or tag:c) charge", TaskQuery(kind="chain", q="(tag:a tag:b or tag:c) charge")),
    ('"or" "state:failed" "-x"', TaskQuery(q='"or" "state:failed" "-x"')),
    ("", TaskQuery()),
]


def test_a_text_is_facets_and_the_rest_and_its_own_spelling_means_the_same() -> None:
    for text, query in FACETS:
        found = parse_filter(text)
        assert found == query, text
        assert parse_filter(found.text) == found == found.checked(), text
        assert TaskQuery.from_params(found.params()) == found, text


WRONG = {
    "state:faild": r"character 1: there is no state 'faild'; did you mean 'failed'",
    "lane:a state:failed,faild": r"character 8: there is no state 'faild'",
    "state:,": r"there is no state ','",
    "lane:a colour:red": r"character 8: 'colour' is not a field, .* between quotes; known are: .*, worker$",
    "nam:x": "did you mean 'name'",
    "lane:": r"lane: needs a value behind it, without a space",
    "lane: bulk": "without a space",
    "age>10": r"'10': this is not a duration of ms, s, m, h, d or w: write age>10m",
    "age:10m": "a duration is compared or a range: write age>10m",
    "name>a": r"name is not compared with >: write name:shop",
    "attempts>many": "not a whole number: write attempts>2",
    "pushed:2026-13-01": r"not a day or a time: write pushed:2026-11-27..28",
    "pushed:2026-11-28..27": "ends before it begins",
    "ended:..": "a range has a begin or an end",
    "(lane:a": r"character 1: this \( has no \) behind it",
    "lane:a)": r"character 7: this \) has no \( before it",
    "()": r"nothing stands between \( and \)",
    "lane:a or": "or stands between two conditions",
    "or lane:a": "or stands between two conditions",
    'name:"shop': 'this " has no second "',
    "-": "a condition is missing at the end",
    "-text:a": "text: stands once, not behind -",
    "text:a or text:b": "text: stands once",
    "text:a text:b": "text: stands once",
    "name:*": r"name needs a value: write name:shop",
    "x " * 50: "at most 40 conditions",
    "(" * 20 + "a": "nested more than 10 times",
    "a" * 2000: "longer than 1000 characters",
}


def test_a_wrong_text_is_refused_with_its_place_and_what_to_write() -> None:
    for text, message in WRONG.items():
        with pytest.raises(FilterError, match=message):
            parse_filter(text)


@pytest.fixture
def mixed(desk: Desk) -> Desk:
    """Tasks that differ: `a` has failed, `b` runs, `c` and `d` wait, `e` was cancelled."""
    desk.push("a", name="shop.charge", lane="bulk", tags=("vip", "eu"))
    (lease,) = desk.claim(1, worker="web-3:17")
    desk.settle(
        lease, Outcome.ERROR, worker="web-3:17", delay_ms=-1, **stored("f1", 'no "Way" to shop', "shop.TimeoutError")
    )
    desk.push("b", name="shop.ship", lane="bulk", tags=("vip-2",))
    desk.claim(1, worker="web-4:9")
    desk.push("c", name="mail.send", own=(("lk", "user_id=42"), ("lm", 1)))
    desk.push("d", name="mail.send.late", lane="slow", priority=-5)
    desk.push("e", name="mail.news", lane="slow", priority=5)
    control.cancel(["e"], pool="default")
    return desk


FOUND = {
    "name:shop.*": "ab",
    "name:*send": "c",
    "name:*.s*d*": "cd",
    "-name:shop.*": "cde",
    "state:failed,running": "ab",
    "(state:failed or state:cancelled) -lane:bulk": "e",
    "(state:failed or state:pending) lane:bulk": "a",
    "-state:failed,running": "cde",
    "(state:failed,running or id:c)": "abc",
    "tag:vip*": "ab",
    "tag:vip": "a",
    "-tag:vip": "bcde",
    "lane:bulk lane:slow": "",
    "lane:default": "c",
    "-lane:default": "abde",
    "kind:task": "abcde",
    "-kind:task": "",
    "pool:def*": "abcde",
    "-pool:default": "",
    "(pool:other or name:mail.news)": "e",
    "worker:web-3": "a",
    "worker:web": "ab",
    "error:timeout": "a",
    'error:"no \\"way"': "a",
    "-error:timeout": "bcde",
    "error:shop -name:shop.charge": "",
    "error:traceback": "",
    "key:user_id=42": "c",
    "key:user* -key:*7": "c",
    "-key:user_id=42": "abde",
    "attempts>0": "a",
    "attempts:0": "bcde",
    "priority<0": "d",
    "priority:-5..5": "abcde",
    "age<1h": "abcde",
    "age>1h": "",
    "waited<1h": "abcde",
    "ran<1h": "ab",
    "-ran<1h": "cde",
    "ended:today": "ae",
    "pushed:yesterday..today": "abcde",
    "pushed<2020-01-01": "",
    "started>=2020-01-01T10:00": "ab",
    "SHOP": "ab",
    "web-4": "b",
    "id:e": "e",
    "id:e -lane:slow": "",
    "id:e lane:sl*": "e",
}


def test_the_store_finds_what_a_filter_says_and_a_browser_would_keep_the_same_rows(mixed: Desk) -> None:
    """Today may end between push and question, but not twice."""
    rows = {row.id: row for row in inspect.tasks(TaskQuery()).rows}
    assert {row.id: (row.begun_ms is None, row.ended_ms is None) for row in rows.values()} == {
        "a": (False, False), "b": (False, True), "c": (True, True), "d": (True, True), "e": (True, False),
    }  # fmt: skip
    for text, expected in FOUND.items():
        query = parse_filter(text)
        assert "".join(sorted(ids(query))) == expected, text
        kept = {id for id, row in rows.items() if inspect.matches(row, query)}
        assert kept >= set(expected), text
        assert kept == set(expected) or "error" in text, text
    mixed.push("f", name="tests.count", kind="mapreduce", own=(("ck", "user_id=42"), ("cl", 1)))
    for text, expected in {"key:user_id=42": "cf", "key:user*": "cf", "-key:user_id=42": "abde"}.items():
        found = inspect.tasks(parse_filter(text)).rows
        assert "".join(sorted(row.id for row in found)) == expected, text
        assert all(inspect.matches(row, parse_filter(text)) for row in found), "the key of chunks is that of their task"
    long_ago = inspect.now_ms() - 7_200_000
    mixed.client.hset(mixed.keys.task("e"), mapping={"c": long_ago, "e": long_ago + 1_000})
    assert "e" in ids(parse_filter("waited<1h"))  # it ended then


def test_a_search_by_an_error_tells_nothing_that_is_masked(mixed: Desk) -> None:
    mixed.push("s", name="shop.leaks")
    leases = [lease for lease in mixed.claim(5, worker="w9") if lease.id == "s"]
    mixed.settle(
        leases[0], Outcome.ERROR, worker="w9", delay_ms=-1, **stored("f2", "bad password=hunter2x", "KeyError")
    )
    assert ids(parse_filter("error:password")) == ["s"]
    assert ids(parse_filter("error:hunter2")) == []
    assert "s" in ids(parse_filter("-error:hunter2")), "its absence would tell"
    with concealing():
        assert ids(parse_filter("error:password")) == []
        assert ids(parse_filter("error:KeyError")) == ["s"]


def test_an_action_on_all_that_match_changes_these_alone(mixed: Desk) -> None:
    query = parse_filter("state:pending -priority<0")
    asked_ms = inspect.now_ms()
    seen = inspect.operation_preview("cancel", query, asked_ms=asked_ms)
    assert (seen.looked, seen.matched) == (2, 1)
    (place,) = control.begin_operation("cancel", query, asked_ms=asked_ms)
    begun = inspect.operation(place[1], place[0])
    assert begun is not None
    assert begun.filter == {"state": "pending", "q": "-priority<0"}


COUNTED = {
    **dict.fromkeys(("", "state:failed", "state:failed,running", "name:mail.send", "kind:task", "pool:other"), True),
    **dict.fromkeys(("tag:vip", "lane:slow", "lane:slow state:cancelled", "lane:default", "lane:bulk"), True),
    **dict.fromkeys(("state:pending -priority<0", "tag:vip lane:bulk", "age<1h", "kind:chain", "text:a", "id:a"), True),
    **dict.fromkeys(("error:timeout", 'error:"no \\"way"', "error:timeout tag:vip"), False),
}
"""Filters, and whether their counts are exact. Of errors types are compared alone: a message may have a secret."""


def test_counts_of_filters_are_those_of_their_lists_or_bounds_that_tell_no_secret(mixed: Desk) -> None:
    mixed.push("r", retries=1, tags=("vip",))
    mixed.push("f-1", "f-2", "f-3")
    for lease in (lease for lease in mixed.claim(9) if lease.id not in "cd"):
        mixed.settle(lease, Outcome.ERROR, delay_ms=60_000 if lease.id == "r" else -1, **stored("f1"))
    queries = {parse_filter(text): is_exact for text, is_exact in COUNTED.items()}
    more = ({}, {"state": "failed"}, {"lane": "x"}, {"state": "failed", "tag": "vip"}, {"tag": "vip"})
    queries |= {TaskQuery(error="f1", **each): True for each in more}
    assert inspect.counts(list(queries)), "the library is loaded"
    with counted_trips() as trips:
        found = inspect.counts(list(queries))
    assert trips.made == 2, "the list of pools, and all counts"
    for (query, is_exact), count in zip(queries.items(), found, strict=True):
        if query.id or query.contains:
            assert count is None
            continue
        assert count is not None, query
        assert count.exact is is_exact, query
        listed = len(ids(query))
        assert count.number == listed if is_exact else count.number <= listed, query
    with concealing():
        (by_type,) = inspect.counts([parse_filter("error:timeout")])
    assert (by_type and by_type.number, by_type and by_type.exact) == (1, True)
    assert inspect.counts([TaskQuery(state="eroded")]) == (None,)


def test_a_count_looks_at_a_bounded_number_of_candidates(mixed: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("queueops.inspect.counting.CANDIDATES", 60)
    mixed.push(*[f"new-{number}" for number in range(50)], name="mail.send")
    vip, all_new = parse_filter("state:pending attempts>0"), parse_filter("name:mail.send priority:0")
    none, some, exact = inspect.counts([vip, all_new, parse_filter("name:mail.send")])
    assert none == Count(number=0, exact=False, seen=30, size=52)
    assert some == Count(number=30, exact=False, seen=30, size=51)
    assert exact == Count(number=51, exact=True, size=51)
    assert inspect.counts([vip], 60.0) is inspect.counts([vip], 60.0), "pages share a reading"
