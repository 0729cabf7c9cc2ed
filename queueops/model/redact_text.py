"""Text redaction: masks URLs' credentials, values of secret keys, tokens and private keys.

A text is read once, and again after a mask. Each pattern takes time proportional to the text at most: it is bounded, or
consumes what it reads.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from urllib.parse import unquote

from queueops.model.encryption import CLOSED

MASK, IN_URL = "[redacted]", "***"
SHORTEST = 3  # characters of a name, a sign and a secret
LONGEST_USER = 500
MOST_LOOKS = 4
HEADERS = ("authorization", "cookie")
"""Header lines whose value is everything up to the end of the line."""

_GAP = re.compile(r"[_\-. ]")
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]{0,30}\Z", re.IGNORECASE)
_STORES = ("redis", "rediss", "valkey", "valkeys", "unix")
_RUN = re.compile(r"\S*+")
_AUTHORITY = re.compile(r"[^\s/?#]*+")
_ADDRESS = re.compile(r"[\[\]\w.,:-]*(?::\d{0,5}|\])")
_TAIL = re.compile(r"[\w.-]{0,60}+")
_SEPARATOR = re.compile(
    r"(?P<quote>\\{0,8}[\"'`])?\]?(?P<gap>\s{0,20})"
    r"(?P<sign>=>|:=|={1,2}|:|%3d|,\s{0,20}\\{0,8}[\"']value\\{0,8}[\"']\s{0,20}:|,|(?=[\s\"']))\s{0,20}",
    re.IGNORECASE,
)
_FLAG = re.compile(r"(?:^|[\s\"'\[(,])--?[\w.-]{0,40}\Z")
_QUOTE = re.compile(r"[bru]{0,2}(?P<slashes>\\{0,8})(?P<mark>[\"'`])", re.IGNORECASE)
_BRACKETS = re.compile(r"[\[\]{}()]|\"(?:[^\"\\]|\\.)*+\"?|'(?:[^'\\]|\\.)*+'?", re.DOTALL)
_PLAIN = re.compile(
    r"(?:(?:bearer|basic|digest|token|negotiate|apikey)\s{1,5})?(?:[^\s\"'`,;&<>)\]}]++|[)\]}]++(?=[^\s\"'`,;&<>)\]}]))*+",
    re.IGNORECASE,
)
"""A value without quotes. A closing bracket within it may be a part of a secret; those at its end are not."""
_LINE = re.compile(r"[^\r\n\"'`]*+")
_TOKEN = re.compile(
    r"(?P<scheme>\bbearer\s{1,5})[\w.~+/=-]{16,}+|(?<![\w-])eyJ[\w-]{10,}+\.[\w-]{10,}+(?:\.[\w-]*+)?",
    re.IGNORECASE,
)
SECRET_PARAMETERS = frozenset(["auth", "code", "hmac", "jwt", "key", "sig", "sign"])
"""Query parameters of URLs whose values are masked beside those that REDACT matches: in other places they are words."""
_PARAMETER = re.compile(r"(?<=[?&;])(?P<name>[\w%.~\[\]-]{1,60})=(?P<value>[^&#\s\"'`<>\\]++)")
_MASKED_URL = re.compile(
    r"://(?:[^/?#\s\"'@]{0,500}:)?\*{3}@|[?&;](?P<name>[\w%.~\[\]-]{1,60})=\*{3}(?![^&#\s\"'`<>\\])"
)
_PEM_BEGIN, _PEM_END = "PRIVATE KEY-----", "-----END"


class Words:
    """The patterns of the setting REDACT, as a matcher for names."""

    def __init__(self, patterns: Iterable[str]) -> None:
        named = [(pattern, [part for part in _GAP.split(pattern.lower()) if part]) for pattern in patterns]
        parts = [words for pattern, words in named if words and not _is_whole(pattern)]
        whole = [words for pattern, words in named if words and _is_whole(pattern)]
        either = [r"[_\-. ]?".join(map(re.escape, words)) for words in parts]
        if whole:
            either.append(f"(?P<whole>{'|'.join(map(_whole_word, whole))})")
        self.pattern = re.compile("|".join(either), re.IGNORECASE) if either else None
        self._marks = tuple({max(words, key=len) for words in (*parts, *whole)})

    def maybe_in(self, low: str) -> bool:
        """Whether a lower-case text may contain a pattern: a fast test that may be wrong only when it says yes."""
        for mark in self._marks:  # noqa: SIM110 - any() takes three times as long, and each line of a log pays for it
            if mark in low:
                return True
        return False

    def found_in(self, name: str) -> bool:
        """Whether a value of this name must be masked."""
        return self.pattern is not None and self.maybe_in(name.lower()) and self.pattern.search(name) is not None


def _is_whole(pattern: str) -> bool:
    return pattern.startswith("_") and pattern.endswith("_")


def _whole_word(words: list[str]) -> str:
    """A part of a name. It ends where letters end, or before an upper-case letter, as in `dbPass`."""
    name = r"[_\-. ]?".join(map(re.escape, words))
    camel = "".join(map(re.escape, map(str.capitalize, words)))
    return rf"(?<![^\W\d_]){name}(?![^\W\d_])|(?-i:(?<=[a-z]){camel}(?![^\W\d_]))"


def mask_text(text: str, words: Words) -> str:
    """The text with masked secrets.

    A mask may join its neighbours to what looks like a secret. So a text with a mask is looked at again.
    """
    for _ in range(MOST_LOOKS):
        shown = _masked_once(text, words)
        if shown == text:
            break
        text = shown
    return text


def _masked_once(text: str, words: Words) -> str:
    if len(text) < SHORTEST:
        return text
    low = text.lower()
    if "://" in low:
        text = "".join(_urls(text))
        if "?" in text and "=" in text:
            text = _PARAMETER.sub(lambda found: _parameter(found, words), text)
    if words.pattern is not None and words.maybe_in(low):
        text = "".join(_pairs(text, words))
    if "bearer" in low or "eyj" in low:
        text = _TOKEN.sub(lambda found: (found["scheme"] or "") + MASK, text)
    return "".join(_keys(text)) if _PEM_BEGIN in text else text


def mask_in(text: str, is_secret: Callable[[str], bool] = bool) -> str:
    """The mask that a text has in the place of a secret, or of an encrypted value; empty without one.

    A shown text has it; input may not.

    ``is_secret``: whether the value of a query parameter would be masked.
    """
    if MASK in text:
        return MASK
    if text.strip() == CLOSED or f'"{CLOSED}"' in text:
        return CLOSED
    names = (found["name"] for found in _MASKED_URL.finditer(text))
    return IN_URL if any(name is None or is_secret(name) for name in names) else ""


# Credentials of URLs


def _urls(text: str) -> Iterator[str]:
    """Pieces of the text. Each run without spaces is read once, however many URLs begin in it."""
    done = run_end = last_at = 0
    while (mark := text.find("://", done)) >= 0:
        begin = mark + 3
        if begin > run_end:
            run_end = _end_of(_RUN, text, begin)
            last_at = text.rfind("@", begin, run_end)
        scheme = _SCHEME.search(text, max(done, mark - 31), mark)
        name = scheme[0].lower() if scheme else ""
        is_store = name.split("+")[0] in _STORES
        end = _credentials_end(text, begin, run_end, last_at, is_store=is_store)
        yield text[done:begin]
        done = begin
        if scheme and end > begin:
            yield _masked_user(text[begin:end], is_web=name in ("http", "https"), is_store=is_store)
            done = end
    yield text[done:]


def _credentials_end(text: str, begin: int, run_end: int, last_at: int, *, is_store: bool) -> int:
    """Where `user:password` ends, or -1 if there is none.

    In a store's URL, everything before the last @ may be a password, even the invalid characters / ? #. A URL may be
    cut. Then text after its colon that is not a port may be the beginning of a password.
    """
    end = _end_of(_AUTHORITY, text, begin)
    if is_store and last_at >= begin:
        return last_at
    if (found := text.rfind("@", begin, end)) >= 0:
        return found
    is_address = end - begin > LONGEST_USER or ":" not in text[begin:end] or _ADDRESS.fullmatch(text, begin, end)
    if is_address or not (is_store or end == len(text)):
        return -1
    return run_end if is_store else end


def _masked_user(user: str, *, is_web: bool, is_store: bool) -> str:
    """The user is kept, except where it may be a secret.

    It may be a token in a web server's URL, and a password without its colon in a store's URL.
    """
    name, colon, _ = user.partition(":")
    if is_web or (is_store and not colon):
        return IN_URL
    return f"{name}:{IN_URL}" if colon else user


def _parameter(found: re.Match[str], words: Words) -> str:
    """A pair of a query. Its name may be written with percent signs."""
    name = unquote(found["name"])
    is_secret = name.lower() in SECRET_PARAMETERS or ("%" in found["name"] and words.found_in(name))
    return f"{found['name']}={IN_URL}" if is_secret else found[0]


def _end_of(pattern: re.Pattern[str], text: str, begin: int) -> int:
    found = pattern.match(text, begin)
    return found.end() if found else begin


# Pairs of a key and its value


def _pairs(text: str, words: Words) -> Iterator[str]:
    done = 0
    pattern = words.pattern
    while pattern is not None and (found := pattern.search(text, done)):
        key_end = _end_of(_TAIL, text, found.end())
        begin = _value_after(text, found.start(), key_end, is_word=found.lastgroup == "whole")
        if begin is None:
            yield text[done:key_end]
            done = key_end
            continue
        end = _value_end(text, begin, _is_header(found[0]))
        yield text[done:begin]
        done = end
        if end > begin:
            yield _mask_for(text, begin, found.start())
    yield text[done:]


def _value_after(text: str, key: int, key_end: int, *, is_word: bool) -> int | None:
    """Where the value of a key begins, or None if none follows. A word of sentences ("pass 'a' to it") needs a sign."""
    found = _SEPARATOR.match(text, key_end)
    if found is None:
        return None
    begin, sign = found.end(), found["sign"]
    if sign and sign != ",":
        return begin
    is_quoted = _QUOTE.match(text, begin) is not None
    if sign == ",":
        return begin if found["quote"] and is_quoted else None
    is_flag = _FLAG.search(text, max(0, key - 42), key) is not None
    return begin if begin > key_end and (is_flag or (is_quoted and not (found["quote"] or is_word))) else None


def _value_end(text: str, begin: int, is_header: bool) -> int:
    """Where a value ends; an unclosed one continues to the end of the text."""
    quote = _QUOTE.match(text, begin)
    if quote is not None:
        return _closing_quote(text, quote)
    if text[begin : begin + 1] in ("[", "{", "("):
        return _end_of(_PLAIN, text, _closing_bracket(text, begin))
    return _end_of(_LINE if is_header else _PLAIN, text, begin)


def _closing_quote(text: str, quote: re.Match[str]) -> int:
    """After the next quote with as many backslashes as the first one, as in JSON within a string."""
    slashes, begin = len(quote["slashes"]), quote.end()
    while (at := text.find(quote["mark"], begin)) >= 0:
        between = text[begin:at]
        escapes = len(between) - len(between.rstrip("\\"))
        begin = at + 1
        if escapes <= slashes if slashes else escapes % 2 == 0:
            return begin
    return len(text)


def _closing_bracket(text: str, begin: int) -> int:
    depth = 0
    for found in _BRACKETS.finditer(text, begin):
        depth += (found[0] in "[{(") - (found[0] in "]})")
        if depth <= 0:
            return found.end()
    return len(text)


def _is_header(word: str) -> bool:
    return word.lower() in HEADERS


def _mask_for(text: str, begin: int, key: int) -> str:
    """The mask, in a URL's query one that is valid there. Quotes around a value are kept, so that JSON stays JSON."""
    quote = _QUOTE.match(text, begin)
    if quote is not None:
        return f"{quote['slashes']}{quote['mark']}{MASK}{quote['slashes']}{quote['mark']}"
    before = text[max(0, key - 60) : key]
    is_query = re.search(r"[?&][\w.-]{0,50}\Z", before) is not None
    return IN_URL if is_query else MASK


# Private keys


def _keys(text: str) -> Iterator[str]:
    done = 0
    while (at := text.find(_PEM_BEGIN, done)) >= 0:
        begin = at + len(_PEM_BEGIN)
        end = text.find(_PEM_END, begin)
        yield text[done:begin] + MASK
        done = len(text) if end < 0 else end
        if end >= 0:  # its last line contains the same words as its first one
            close = text.find(_PEM_BEGIN, end)
            done = len(text) if close < 0 else close + len(_PEM_BEGIN)
            yield text[end:done]
    yield text[done:]
