"""The sample tasks. Each does real work; the ones in `failing` really fail."""

from console.demo.tasks import failing, files, pictures, reading, timely, waiting, web, words

__all__ = ["failing", "files", "pictures", "reading", "timely", "waiting", "web", "words"]
