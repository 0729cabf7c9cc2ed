"""`python -m tests.golden`: write the golden files anew after a change that is meant; read their diff."""

import os

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
django.setup()

from tests.golden.subjects import FOLDER, SUBJECTS  # noqa: E402  the apps must be ready first

for name, lines in SUBJECTS.items():
    (FOLDER / f"{name}.txt").write_text("".join(f"{line}\n" for line in lines()))
