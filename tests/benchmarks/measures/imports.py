"""What a process pays for QueueOps before it does anything: a web process, a shell, a command.

The figures are processor time, which other load changes less, and medians of fresh interpreters with cached byte code.
For each module: `python -X importtime -c "import queueops"`, and the same with `import django; django.setup()`.
"""

import json
import subprocess
import sys
from statistics import median

from tests.benchmarks.benchmark import Benchmark, Figures
from tests.benchmarks.stage import RunFailed, Stage, gist
from tests.benchmarks.systems import OURS

STARTS = 7
SET_UP = """
import django
from django.conf import settings
settings.configure(USE_TZ=True, INSTALLED_APPS={apps}, QUEUEOPS={{"URL": "redis://127.0.0.1:1/0"}})
django.setup()
"""
TIMED = """
import json, sys
from time import process_time
begun = process_time()
{code}
print(json.dumps([1000 * (process_time() - begun), len([name for name in sys.modules if name.startswith("queueops")])]))
"""


def measure(stage: Stage) -> Figures:
    """Processor time of `import queueops`, of Django alone, and of Django with the app and with tasks of all kinds."""
    alone = SET_UP.format(apps=[])
    codes = {
        "queueops": "import queueops",
        "alone": alone,
        "client": f"{alone}\nimport redis",
        "app": SET_UP.format(apps=["queueops"]),
        "tasks": SET_UP.format(apps=["queueops", "bench"]),
    }
    starts = [{name: _start(stage, code) for name, code in codes.items()} for _ in range(STARTS)]
    spent = {name: median(start[name][0] for start in starts) for name in codes}
    return {
        "import queueops CPU ms": spent["queueops"],
        "django.setup() alone CPU ms": spent["alone"],
        "with the app CPU ms": spent["app"],
        "with the app, % more": 100 * (spent["app"] / spent["alone"] - 1),
        "with the app and tasks CPU ms": spent["tasks"],
        "with the app and tasks, % more": 100 * (spent["tasks"] / spent["alone"] - 1),
        "the client redis-py alone, % more": 100 * (spent["client"] / spent["alone"] - 1),
        "modules of ours with the app": starts[0]["app"][1],
        "modules of ours with tasks": starts[0]["tasks"][1],
    }


def _start(stage: Stage, code: str) -> tuple[float, int]:
    """Milliseconds of processor time for this code in a fresh interpreter, and how many modules of ours it then has."""
    command = [sys.executable, "-c", TIMED.format(code=code)]
    done = subprocess.run(command, env=stage.environment, cwd=stage.folder, capture_output=True, text=True)
    if done.returncode:
        raise RunFailed(f"queueops imports: {gist(done.stderr)}")
    milliseconds, modules = json.loads(done.stdout)
    return milliseconds, modules


IMPORTS = Benchmark(
    name="imports",
    title="`import queueops`, and django.setup() without and with the app (no database)",
    target="",
    measure=measure,
    systems=(OURS,),
    rounds=1,
    listed=True,
)
