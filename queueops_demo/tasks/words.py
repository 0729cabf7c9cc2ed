"""Word count of Python's standard library, as map-reduce: thousands of chunks, some of which fail."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

from queueops import MapReduce, Results, Retry, current
from queueops_demo.library import ROOT, binaries, modules_of, pieces, shelf

SPEED = 300_000  # characters a second, as a disk far away would give them
BUSY = 0.005  # how often a file cannot be read just now
KEPT_WORDS = 40
KEPT_S = 1800


class Busy(OSError):
    """The file is locked by another process; a retry a little later succeeds."""


class WordCount(MapReduce):
    """The most frequent words of the library. Binary files fail; up to 5% of the chunks may be dropped."""

    name = "demo.word_count"
    tags = ("words",)
    keep = KEPT_S
    timeout = 60
    max_parallel = 6
    retries = 1
    retry = Retry(delay=90)
    on_chunk_failure = "drop:5%"

    def map(self, title: str, damaged: int = 12) -> Iterator[dict[str, Any]]:
        """One chunk for each piece of each file; some files are binary."""
        files = [*shelf(), *random.sample(binaries(), min(damaged, len(binaries())))]
        random.shuffle(files)
        for path in files:
            yield from pieces(path)

    def process(self, chunk: dict[str, Any]) -> dict[str, Any]:
        """Count the words of a piece. Raises UnicodeDecodeError where the encoding is wrong, and sometimes Busy."""
        path, (begin, end) = chunk["path"], chunk["lines"]
        if random.random() < BUSY:
            current().log(f"{path} is held by a backup")
            raise Busy("a backup holds the file")
        lines = (ROOT / path).read_text(encoding=chunk["encoding"]).splitlines()[begin:end]
        words = [word for line in lines for word in line.split() if word.isidentifier()]
        time.sleep(min(1.0, sum(map(len, lines)) / SPEED))
        return {"lines": len(lines), "words": len(words), "top": Counter(words).most_common(KEPT_WORDS)}

    def reduce(self, results: Results) -> dict[str, Any]:
        """Add up the results, one at a time. A skipped chunk has the result None."""
        top: Counter[str] = Counter()
        lines = words = skipped = 0
        for done, result in enumerate(results, start=1):
            if result is None:
                skipped += 1
            else:
                lines, words = lines + result["lines"], words + result["words"]
                top.update(dict(result["top"]))
            if done % 200 == 0 or done == len(results):
                current().progress(done, len(results))
        return {"lines": lines, "words": words, "left out": len(self.dropped) + skipped, "top": top.most_common(20)}


class StrictWordCount(WordCount):
    """The same for one package. No chunk may be dropped: the task fails at its first binary file."""

    name = "demo.word_count_strict"
    retries = 0
    on_chunk_failure = "fail"

    def map(self, title: str, damaged: int = 1) -> Iterator[dict[str, Any]]:
        """The modules of a package, and a binary file."""
        files = [*modules_of(title), *random.sample(binaries(), min(damaged, len(binaries())))]
        random.shuffle(files)
        for path in files:
            yield from pieces(path)
