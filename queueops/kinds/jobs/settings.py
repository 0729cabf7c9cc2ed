"""Settings of jobs: reads `QUEUEOPS["JOBS"]` into a frozen object, with every default here."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Any

from queueops import conf
from queueops.conf import readers as read
from queueops.kinds.jobs.header_rules import fault_of_header
from queueops.model.redact import MASK
from queueops.model.retry import Growth, Retry

Network = IPv4Network | IPv6Network

GIB, MIB = 1024**3, 1024**2
PORTS = (80, 443, 3128, 8080, 8443)


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryRule:
    """How often something is tried again, and after which delays."""

    retries: int  # further attempts after the first one failed
    delay: float  # seconds before the second attempt
    growth: Growth = Growth.EXPONENTIAL  # linear: the delay times the number of the attempt
    max_delay: float = read.DAY  # the longest delay
    jitter: float = 0.0  # random share of a delay

    def policy(self) -> Retry:
        """The delays."""
        return _policy(self)

    def stored(self) -> str:
        """The delays, as a record stores them."""
        return _stored(self)


@lru_cache(maxsize=64)
def _policy(rule: RetryRule) -> Retry:
    return Retry(rule.delay, max_delay=rule.max_delay, jitter=rule.jitter, growth=rule.growth)


@lru_cache(maxsize=64)
def _stored(rule: RetryRule) -> str:
    return rule.policy().explicit()


JOBS = RetryRule(retries=2, delay=60.0, max_delay=3600.0, jitter=0.1)
CALLBACKS = RetryRule(retries=9, delay=30.0, max_delay=7200.0, jitter=0.2)
"""Ten attempts in about four hours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSettings:
    """Every setting of jobs, with its default. The key in QUEUEOPS["JOBS"] is the name in capitals."""

    private_networks: tuple[Network, ...] = ()  # networks that are not public, and may be reached all the same
    ports: tuple[int, ...] | None = PORTS  # of urls, proxies and callbacks; None = any port
    max_redirects: int = 10
    connect_timeout: float = 10.0  # seconds, for TCP and TLS
    read_timeout: float = 30.0  # seconds without a byte
    download_timeout: float = 600.0  # seconds in all; a job's own `download_timeout` wins
    max_size: int = GIB  # bytes of a file, after it is unpacked
    download_url: str = ""  # before the name of a stored file; empty = what the storage says
    retry: RetryRule = JOBS  # of jobs; a job's own `retries` and `retry` win
    callback_retry: RetryRule = CALLBACKS
    s3_buckets: Mapping[str, str] = field(default_factory=dict)  # those that jobs may name, each with its region
    file_retention: float | None = None  # seconds after which a file is deleted; None = with the record of its job
    check_storage: bool = True  # whether a worker writes a file to the storage at its start
    partial_directory: str = ""  # of files on their way; empty = a directory of this user among the temporary ones
    request_headers: Mapping[str, str] = field(default_factory=dict)  # of each download; a job's own win
    callback_timeout: float = 30.0  # seconds in all
    callback_answer: int = 4096  # bytes that are read of the answer to a callback
    callback_secrets: tuple[str, ...] = ()  # the first is the newest; each signs, so that keys can be changed
    kafka: Mapping[str, Any] = field(default_factory=dict)  # options of its producer; empty = no callbacks to it
    classic_open: bool = False  # whether the classic routes need no token
    api_body_limit: int = 2 * MIB  # bytes; a token's own wins
    aggregation_idle: float = 2 * read.DAY  # seconds without use until an aggregation without a job vanishes
    disk_pause: int = 95  # percent of the storage's disk from which jobs wait; 0 = never
    disk_resume: int = 90  # percent at which they start again
    circuit_failures: int = 5  # failures of an address in a row that stop the callbacks to it; 0 = never
    circuit_key: str = (
        ""  # a function that gives the text by which callbacks share a circuit; empty = URL without query
    )
    circuit_wait: float = 30.0  # seconds until the first callback is tried again; doubled after each failure of it
    circuit_longest_wait: float = 600.0  # the longest such time


DEFAULTS = JobSettings()
"""The settings of a project that sets none."""


def of_jobs() -> JobSettings:
    """The settings of this process."""
    found: JobSettings = conf.current().of_kinds.get("jobs", DEFAULTS)
    return found


def read_settings(value: Any) -> JobSettings:
    """Read `QUEUEOPS["JOBS"]`. Raises Unfit with the path of the wrong part."""
    return JobSettings(**{key.lower(): item for key, item in read.table(READERS)(value).items()})


def _networks(value: Any) -> tuple[Network, ...]:
    return tuple(_network(each) for each in read.texts(value))


def _network(text: str) -> Network:
    try:
        return ip_network(text)
    except ValueError:
        raise read.Unfit('a list of networks such as "10.0.0.0/8" or "fd00::/8"') from None


def _ports(value: Any) -> tuple[int, ...]:
    if isinstance(value, str) or not isinstance(value, list | tuple | set | frozenset):
        raise read.Unfit("a list of ports, or None for any port")
    return tuple(sorted(map(read.whole(1, 65_535), value)))


def _base_url(value: Any) -> str:
    if not isinstance(value, str) or not re.fullmatch(r"https?://[^\s?#@/]+(?:/[^\s?#]*)?", value):
        raise read.Unfit('a URL such as "https://files.example.com/jobs"')
    return value


def _headers(value: Any) -> dict[str, str]:
    found = read.each(read.given, read.text)(value)
    for name, item in found.items():
        if fault := fault_of_header(name, item):
            raise read.Unfit(f"a header that can be sent ({fault})", (name,), MASK)
    return found


def _secrets(value: Any) -> tuple[str, ...]:
    """Secrets of callbacks. The error of a wrong one does not show it."""
    found = read.texts(value)
    for index, each in enumerate(found):
        if not SECRET.fullmatch(each):
            raise read.Unfit('"whsec_" and 24 to 64 bytes in base64', (str(index),), MASK)
    return found


def _kafka(value: Any) -> dict[str, Any]:
    """Options of librdkafka. The error of a wrong one does not show it."""
    found = read.each(read.given, read.text)(value)
    for name, item in found.items():
        if not isinstance(item, str | int | float | bool):
            raise read.Unfit("a text, a number or True or False", (name,), MASK)
    if found and not found.get("bootstrap.servers") and "test.mock.num.brokers" not in found:
        raise read.Unfit('options with "bootstrap.servers"', (), MASK)
    return found


def _bucket(value: Any) -> str:
    if not isinstance(value, str) or not re.fullmatch(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]", value):
        raise read.Unfit("a bucket of S3: 3 to 63 small letters, digits, . and -")
    return value


def _region(value: Any) -> str:
    if not isinstance(value, str) or not re.fullmatch(r"[a-z0-9-]{1,50}", value):
        raise read.Unfit('the region of the bucket, such as "eu-central-1"')
    return value


SECRET = re.compile(r"whsec_(?:[A-Za-z0-9+/]{4}){8,21}(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")
"""A symmetric secret of Standard Webhooks."""
RULE: dict[str, read.Reader[Any]] = {
    "retries": read.whole(0, 1_000_000),
    "delay": read.seconds(0),
    "growth": read.choice(Growth),
    "max_delay": read.seconds(0),
    "jitter": read.number(0, 1),
}
READERS: dict[str, read.Reader[Any]] = {
    "PRIVATE_NETWORKS": _networks,
    "PORTS": read.optional(_ports),
    "MAX_REDIRECTS": read.whole(0, 50),
    "CONNECT_TIMEOUT": read.seconds(0.001, read.DAY),
    "READ_TIMEOUT": read.seconds(0.001, read.DAY),
    "DOWNLOAD_TIMEOUT": read.seconds(0.001, read.DAY),
    "MAX_SIZE": read.whole(1),
    "DOWNLOAD_URL": _base_url,
    "RETRY": lambda value: replace(JOBS, **read.table(RULE)(value)),
    "CALLBACK_RETRY": lambda value: replace(CALLBACKS, **read.table(RULE)(value)),
    "S3_BUCKETS": read.each(_region, _bucket),
    "FILE_RETENTION": read.optional(read.seconds(0)),
    "CHECK_STORAGE": read.flag,
    "PARTIAL_DIRECTORY": read.text,
    "REQUEST_HEADERS": _headers,
    "CALLBACK_TIMEOUT": read.seconds(0.001, read.DAY),
    "CALLBACK_ANSWER": read.whole(0, MIB),
    "CALLBACK_SECRETS": _secrets,
    "AGGREGATION_IDLE": read.seconds(0.001, 366 * read.DAY),
    "DISK_PAUSE": read.whole(0, 100),
    "DISK_RESUME": read.whole(0, 100),
    "CIRCUIT_FAILURES": read.whole(0, 1_000_000),
    "CIRCUIT_KEY": read.text,
    "CIRCUIT_WAIT": read.seconds(0.001, read.DAY),
    "CIRCUIT_LONGEST_WAIT": read.seconds(0.001, read.DAY),
    "KAFKA": _kafka,
    "CLASSIC_OPEN": read.flag,
    "API_BODY_LIMIT": read.whole(1, 100 * MIB),
}
