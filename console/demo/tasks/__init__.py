"""Sample tasks. Each does real work; those in `failing` fail."""

from console.demo.tasks import auditing, failing, files, nightly, pictures, reading, timely, waiting, web, words

__all__ = ["auditing", "failing", "files", "nightly", "pictures", "reading", "timely", "waiting", "web", "words"]
