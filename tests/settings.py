"""The stand-alone project; what it keeps is in a directory of this run, also for the processes that a test starts."""

import atexit
import os
import shutil
import tempfile
from pathlib import Path


def _remove(directory: str, owner: int) -> None:
    if os.getpid() == owner:
        shutil.rmtree(directory, ignore_errors=True)


if "QUEUEOPS_TESTS_DATA" not in os.environ:
    os.environ["QUEUEOPS_TESTS_DATA"] = tempfile.mkdtemp(prefix="queueops-tests-")
    atexit.register(_remove, os.environ["QUEUEOPS_TESTS_DATA"], os.getpid())

# Of several processes that share the tests each has a store of its own.
DATA = Path(os.environ["QUEUEOPS_TESTS_DATA"])
if (side := os.environ.get("PYTEST_XDIST_WORKER", DATA.name)) != DATA.name:
    DATA /= side
    DATA.mkdir(mode=0o700)
    os.environ["QUEUEOPS_TESTS_DATA"] = str(DATA)

os.environ["QUEUEOPS_DATA"] = os.environ["QUEUEOPS_TESTS_DATA"]
os.environ["QUEUEOPS_SECRET_KEY"] = "only for tests"
os.environ["QUEUEOPS_DEBUG"] = "0"
os.environ.pop("QUEUEOPS_ENV", None)
os.environ.pop("QUEUEOPS_URL", None)

from console.project.settings import *  # noqa: E402, F403
from console.project.settings import DATABASES, INSTALLED_APPS  # noqa: E402

STORE = DATA / "store"
ALLOWED_HOSTS = ["testserver", "localhost", "127.0.0.1"]
INSTALLED_APPS = [*INSTALLED_APPS, "queueops_demo", "tests", "tests.outbox.apps.DormantOutbox", "queueops.contrib.once"]
DATABASES["default"]["TEST"] = {"NAME": DATABASES["default"]["NAME"]}  # the processes of a test see its database
WHITENOISE_AUTOREFRESH = True  # as with DEBUG: else each new test client opens all static files
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]

QUEUEOPS = {
    # The plain address of the embedded server: a client that finds it gone gets an error, and does not start it again.
    "URL": os.environ.get("QUEUEOPS_TESTS_URL", f"unix://{STORE / 'valkey.sock'}"),
    "NAMESPACE": os.environ.get("QUEUEOPS_TESTS_NAMESPACE", "tests"),
}
