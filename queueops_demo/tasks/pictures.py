"""Tasks that make pictures."""

from __future__ import annotations

import tempfile
import zlib
from pathlib import Path

from django.conf import settings

from queueops import Retry, current, task
from queueops_demo.library import text_of
from queueops_demo.png import draw

KEPT = 200


@task(name="demo.make_thumbnail", lane="thumbnails", tags=["pictures"], retry=Retry(delay=5), timeout=30)
def make_thumbnail(path: str) -> str:
    """Draw a source file as a picture and shrink it. The lane runs two of these at a time."""
    current().progress(0, 3)
    picture = draw(text_of(path))
    current().progress(1, 3)
    small = picture.half()
    current().progress(2, 3)
    target = _folder() / f"{zlib.crc32(path.encode()) % KEPT:03}.png"  # so there never are more than KEPT
    draft = target.with_suffix(f".{current().id.replace('/', '_')[:40]}.part")
    draft.write_bytes(small.png())
    draft.replace(target)
    current().progress(3, 3)
    return target.name


def _folder() -> Path:
    folder = Path(getattr(settings, "DATA", tempfile.gettempdir())) / "thumbnails"
    folder.mkdir(exist_ok=True)
    return folder
