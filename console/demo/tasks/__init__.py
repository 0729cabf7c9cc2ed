"""The sample tasks. Each does real work; the ones in `failing` really fail."""

from console.demo.tasks import auditing, failing, files, nightly, pictures, reading, timely, waiting, web, words

__all__ = ["auditing", "failing", "files", "nightly", "pictures", "reading", "timely", "waiting", "web", "words"]
