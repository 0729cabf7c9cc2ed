"""A project that has the API of jobs, and not the console: run as a program, it hands in a job and acts on it."""

import io
import json
import logging
import os
import sys

import django
from django.conf import settings

settings.configure(
    SECRET_KEY="only for tests",
    ALLOWED_HOSTS=["testserver"],
    USE_TZ=True,
    INSTALLED_APPS=["queueops", "queueops.kinds.jobs.api"],
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}},
    ROOT_URLCONF="tests.jobs.api_urls",
    QUEUEOPS={"URL": sys.argv[1], "NAMESPACE": os.environ["QUEUEOPS_TESTS_NAMESPACE"]},
)
django.setup()

from django.core.management import call_command  # noqa: E402
from django.test import Client  # noqa: E402

heard = io.StringIO()
logging.getLogger("queueops.audit").addHandler(logging.StreamHandler(heard))
logging.getLogger("queueops.audit").setLevel(logging.INFO)
out = io.StringIO()
call_command("check", stdout=io.StringIO())
call_command("migrate", verbosity=0)
call_command("apitoken", "create", "shop", "--scope", "submit", "--scope", "read", "--scope", "manage", stdout=out)
api = Client(headers={"authorization": f"Bearer {out.getvalue().strip()}"})
job = {"aggr_id": "shop", "url": "http://93.184.215.14/a.jpg"}
made = api.post("/api/v1/jobs", json.dumps(job), content_type="application/json")
read = api.get(f"/api/v1/jobs/{made.json()['id']}")
cancelled = api.post(f"/api/v1/jobs/{made.json()['id']}/cancel")
print(json.dumps([made.status_code, read.json()["state"], cancelled.json()["state"], heard.getvalue()]))
