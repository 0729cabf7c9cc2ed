"""Sample tasks. Each does real work; those in `failing` fail."""

from queueops_demo.tasks import auditing, failing, files, nightly, pictures, reading, shop, timely, waiting, web, words

__all__ = [
    "auditing",
    "failing",
    "files",
    "nightly",
    "pictures",
    "reading",
    "shop",
    "timely",
    "waiting",
    "web",
    "words",
]
