"""The console's bundles: built of the files in `static/`, and no more of Tabler than the console uses."""

from __future__ import annotations

from tests.repository import bundles


def test_the_bundles_are_up_to_date() -> None:
    built = bundles.build()
    for kind, path in bundles.BUILT.items():
        assert path.read_text() == built[kind], "write: python -m tests.repository.bundles"


def test_a_fifth_of_tabler_is_left_at_most() -> None:
    whole, own = (
        len(bundles.TABLER.read_bytes()),
        sum(len((bundles.STATIC / name).read_bytes()) for name in bundles.STYLES),
    )
    assert bundles.BUILT["css"].stat().st_size - own < whole / 5


def test_a_rule_is_kept_if_all_of_one_selector_is_used() -> None:
    used = frozenset({"btn", "a"})
    rules = bundles.parse(
        '@charset "utf-8";.btn,.row{x:"}"}.btn .row{y:1}a:not(.btn-x)>.btn:hover,a::before{z:1}@media print{.row{a:1}}'
        "@media screen{.btn{b:1}.row{c:1}}"
    )
    kept = [bundles._text(reduced).strip() for rule in rules if (reduced := bundles._reduced(rule, used))]
    assert kept == ['.btn{x:"}"}', "a:not(.btn-x)>.btn:hover,a::before{z:1}", "@media screen{.btn{b:1}\n}"]


def test_a_variable_is_kept_if_something_needs_it() -> None:
    rules = bundles.parse(":root{--a:1px;--b:var(--a);--c:2;--d:var(--c)}p{x:var(--b)}")
    needed = bundles._variables([bundles._text(rule) for rule in rules])
    assert needed == {"--a", "--b"}
    assert bundles._text(bundles._without(rules[0], needed)) == ":root{--a:1px;--b:var(--a)}\n"
