"""Types and sizes of files by their first bytes, and the patterns of a job."""

from __future__ import annotations

import io
import json
import re
import zipfile

import pytest
from PIL import Image

from queueops.errors import BadOption
from queueops.kinds.jobs.files.image_size import BadImage, image_size
from queueops.kinds.jobs.files.mime import HEAD, MimePatterns, mime_type_of
from tests.support.for_each import for_each


def picture(format: str, size: tuple[int, int] = (37, 11), **options: object) -> bytes:
    made = io.BytesIO()
    Image.new("RGB", size, (250, 100, 50)).save(made, format, **options)
    return made.getvalue()


def archive(*names: str) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as file:
        for name in names:
            file.writestr(name, "application/epub+zip" if name == "mimetype" else "x")
    return made.getvalue()


def short(value: str | bytes) -> str:
    return value if isinstance(value, str) else f"{len(value)} bytes"


WORD = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"


@for_each(
    ("body", "found"),
    [
        (b"", "application/x-empty"),
        (picture("PNG"), "image/png"),
        (picture("JPEG"), "image/jpeg"),
        (picture("GIF"), "image/gif"),
        (picture("WEBP"), "image/webp"),
        (picture("BMP"), "image/bmp"),
        (b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\x00", "application/pdf"),
        (b"%PDF-1.4\n1 0 obj", "application/pdf"),
        (b"\x1f\x8b\x08\x00\x00\x00\x00\x00", "application/gzip"),
        (archive("a.txt"), "application/zip"),
        (archive("[Content_Types].xml", "_rels/.rels", "word/document.xml"), WORD),
        (archive("mimetype", "a"), "application/epub+zip"),
        (b"\xef\xbb\xbf<!DOCTYPE html><html>", "text/html"),
        (b"<?xml version='1.0'?><!-- a --><svg xmlns='x'>", "image/svg+xml"),
        (b"<?xml version='1.0'?><a/>", "text/xml"),
        (json.dumps({"a": ["é"]}).encode(), "application/json"),
        (b"{no json", "text/plain"),
        (b"BM is how this text begins", "text/plain"),
        (b"GIF is a format", "text/plain"),
        ("ü".encode() * HEAD, "text/plain"),
        (b"\x00\x01\x02\xfd\x9c", "application/octet-stream"),
    ],
)
def test_a_type_is_found_by_the_first_bytes(body: bytes, found: str) -> None:
    assert mime_type_of(body[:HEAD], is_whole=len(body) <= HEAD) == found


def test_a_text_that_is_cut_within_a_character_is_a_text() -> None:
    cut = ("a" + "ü" * HEAD).encode()[:HEAD]
    assert mime_type_of(cut) == "text/plain"
    assert mime_type_of(cut, is_whole=True) != "text/plain"


@for_each(
    ("patterns", "mime_type", "fault"),
    [
        ("", "text/html", ""),
        ("image/*", "image/png", ""),
        ("image/*", "text/html", "Expected mime-type to be (image/*), found (text/html)."),
        ("image/png, image/jpeg", "image/jpeg", ""),
        ("!text/*", "image/png", ""),
        ("!text/*", "text/html", "Expected mime-type not to be (text/*), found (text/html)."),
        ("image/*,!image/gif", "image/gif", "Expected mime-type not to be (image/gif), found (image/gif)."),
        ("image/[jp]*", "image/png", ""),
        ("image/[!j]*", "image/jpeg", "Expected mime-type to be (image/[!j]*), found (image/jpeg)."),
        ("*", "image/png", "Expected mime-type to be (*), found (image/png)."),
        ("!*", "image/png", ""),
        ("image/???", "image/png", ""),
        ("IMAGE/PNG", "image/png", ""),
        ("application/x.y", "application/xzy", "Expected mime-type to be (application/x.y), found (application/xzy)."),
    ],
)
def test_patterns_allow_and_refuse_types(patterns: str, mime_type: str, fault: str) -> None:
    assert MimePatterns.read(patterns).fault_of(mime_type) == fault


@for_each("patterns", ["image/[", "image/png,", "!", "a b/c", "image/[]", "!!image/png", "x" * 1001])
def test_a_pattern_that_cannot_be_read_is_refused(patterns: str) -> None:
    with pytest.raises(BadOption, match="The option mime_type is"):
        MimePatterns.read(patterns)


@for_each(
    ("patterns", "instead"),
    [
        ("image", '"image/*" instead of "image"'),
        ("text/*, !png", '"!png/*" instead of "!png"'),
        ("**", '"**/*"'),
        ("image/", '"image/*" instead of "image/"'),
        ("image/*,!/png", '"!*/png" instead of "!/png"'),
        ("image/png/x", '"image/png" instead of "image/png/x"'),
    ],
)
def test_a_pattern_without_type_and_subtype_is_refused_with_what_to_write(patterns: str, instead: str) -> None:
    with pytest.raises(BadOption, match=f"it must be patterns of a type and a subtype: {re.escape(instead)}"):
        MimePatterns.read(patterns)


@for_each(
    ("body", "mime_type"),
    [
        (picture("PNG"), "image/png"),
        (picture("GIF"), "image/gif"),
        (picture("JPEG"), "image/jpeg"),
        (picture("JPEG", progressive=True), "image/jpeg"),
        (picture("JPEG", exif=b"Exif\x00\x00" + b"\xff\xc0" * 20_000), "image/jpeg"),
        (picture("WEBP"), "image/webp"),
        (picture("WEBP", lossless=True), "image/webp"),
        (picture("WEBP", exif=b"Exif\x00\x00MM"), "image/webp"),
    ],
)
def test_the_size_of_a_picture_is_read(body: bytes, mime_type: str) -> None:
    assert image_size(io.BytesIO(body), mime_type) == "37x11"


@for_each("mime_type", ["image/png", "image/gif", "image/jpeg", "image/webp"])
def test_a_picture_that_is_cut_is_bad_at_any_place(mime_type: str) -> None:
    body = picture(mime_type.partition("/")[2].upper())
    for length in range(24):
        try:
            found = image_size(io.BytesIO(body[:length]), mime_type)
        except BadImage:
            continue
        assert found == "37x11"


def test_a_picture_without_a_size_is_bad() -> None:
    with pytest.raises(BadImage, match="0x11"):
        image_size(io.BytesIO(picture("PNG")[:16] + bytes(4) + picture("PNG")[20:]), "image/png")


def test_other_files_have_no_size() -> None:
    assert image_size(io.BytesIO(picture("BMP")), "image/bmp") == ""
