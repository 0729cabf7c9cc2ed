"""Lane names of jobs: an aggregation and a destination of callbacks each have a lane.

A lane's name has at most 100 characters of a small set. A text that fits is in the name as it is. Any other text is
replaced by its digest after a `=`, which no text that fits begins with. So two texts never have one lane.
"""

from __future__ import annotations

from functools import lru_cache
from hashlib import sha256

from queueops.errors import BadOption
from queueops.model.ids import NAME, NAME_LENGTH

AGGREGATION, DESTINATION = "aggr:", "to:"
"""Beginnings of the names of both sorts of lane."""
TOPIC = "kafka:"
"""Beginning of a destination that is a topic. Digits alone behind it are a port of a host of that name."""
LONGEST = 200
"""Characters of an aggregation's id."""


def lane_of_aggregation(id: object) -> str:
    """The lane of an aggregation, whose id is any text of 1 to 200 characters. Raises BadOption."""
    if not isinstance(id, str) or not 1 <= len(id) <= LONGEST or not _is_unicode(id):
        raise BadOption(name="aggregation", value=id, expected=f"a text of 1 to {LONGEST} characters")
    return _lane(AGGREGATION, id)


def lane_of_destination(place: str) -> str:
    """The lane of the callbacks to a host, or to a topic of Kafka. Capital letters of a host mean nothing."""
    is_topic = place.startswith(TOPIC) and not place.removeprefix(TOPIC).isdigit()
    return _lane(DESTINATION, place if is_topic else place.lower())


@lru_cache(maxsize=1024)
def _lane(prefix: str, text: str) -> str:
    name = prefix + text
    if not text.startswith("=") and len(name) <= NAME_LENGTH and NAME.fullmatch(name):
        return name
    return f"{prefix}={sha256(text.encode()).hexdigest()}"


def _is_unicode(text: str) -> bool:
    """Whether a text has no lone surrogate, which UTF-8 cannot encode."""
    return not any("\ud800" <= character <= "\udfff" for character in text)
