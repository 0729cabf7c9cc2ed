"""The Helm chart: lint, the manifests it makes, and that they fit the image, the metrics and the probes."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from functools import cache
from typing import Any

import pytest
import yaml

from queueops.conf import Settings
from tests.deploy.files import DEPLOY, service
from tests.inspecting.test_monitoring_files import METRIC
from tests.inspecting.test_monitoring_files import exposed as exposed
from tests.kernel.conftest import desk as desk
from tests.kernel.conftest import desk_class as desk_class
from tests.kernel.conftest import make_desk as make_desk
from tests.support.webserver import ROOT

CHART = DEPLOY / "helm/queueops"
OWN = ROOT / ".venv/ci/helm"
FULL = ("--set", "autoscaling.enabled=true", "--set", "ingress.enabled=true", "--set", "workers.mail.pools={mail,bulk}")
MORE = ("workers.mail.processes=1", "workers.mail.maxMemory=200")


def helm(*words: str) -> str:
    """What Helm prints; without Helm the test is skipped, never in CI."""
    found = shutil.which("helm") or shutil.which(OWN / "helm/helm")
    if not found and os.environ.get("CI"):
        found = subprocess.run([ROOT / ".ci/helm", OWN], capture_output=True, text=True, check=True).stdout.strip()
    if not found:
        pytest.skip("there is no helm here: .ci/helm .venv/ci/helm")
    done = subprocess.run([found, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@cache
def made(*options: str) -> list[dict[str, Any]]:
    """The manifests of a release `shop`."""
    text = helm("template", "shop", str(CHART), *options)
    return [each for each in yaml.safe_load_all(text) if each]


def full() -> list[dict[str, Any]]:
    return made(*FULL, *(word for each in MORE for word in ("--set", each)))


def pods() -> dict[str, dict[str, Any]]:
    """The specification of the pod of each workload, by name."""
    return {each["metadata"]["name"]: each["spec"]["template"]["spec"] for each in full() if "template" in each["spec"]}


def test_helm_accepts_the_chart_and_kubernetes_its_manifests() -> None:
    validate = pytest.importorskip("kubernetes_validate")
    helm("lint", "--strict", str(CHART))
    for manifests in (made(), full()):
        assert len(manifests) > 8
        for each in manifests:
            if each["apiVersion"] != "keda.sh/v1alpha1":
                validate.validate(each, "1.37", strict=True)


def test_each_pod_stops_in_order_and_may_do_little() -> None:
    assert set(pods()) == {
        f"shop-{name}" for name in ("migrate", "web", "worker-default", "worker-mail", "watchdog", "metrics")
    }
    for name, pod in pods().items():
        assert pod["terminationGracePeriodSeconds"] == Settings().grace + 10, name
        assert pod["securityContext"]["runAsNonRoot"], name
        assert pod["securityContext"]["runAsUser"] == 10001, name
        (container,) = pod["containers"]
        assert container["securityContext"]["readOnlyRootFilesystem"], name
        assert {"command"} & set(container) == set(), f"{name}: tini of the image would not run"
    for each in full():
        if each["kind"] == "PodDisruptionBudget":
            labels = each["spec"]["selector"]["matchLabels"]
            assert labels in [other["spec"].get("selector", {}).get("matchLabels") for other in full() if other != each]


def test_the_chart_runs_what_the_compose_file_runs() -> None:
    args = {name: pod["containers"][0].get("args") for name, pod in pods().items()}
    assert args["shop-web"] is None  # the CMD of the image
    assert args["shop-watchdog"] == service("watchdog")["command"]
    assert args["shop-migrate"] == service("migrate")["command"]
    wanted = "python manage.py runworker --pool mail --pool bulk --processes 1 --max-memory 200 --log-format json"
    assert args["shop-worker-mail"] == wanted.split()
    with pytest.MonkeyPatch.context() as patch:
        from django.core.management import load_command_class

        patch.setattr("sys.exit", lambda *_: pytest.fail("the command line is wrong"))
        for name, command in (("runworker", "worker-mail"), ("watchdog", "watchdog"), ("metrics", "metrics")):
            load_command_class("queueops", name).create_parser("manage.py", name).parse_args(
                args[f"shop-{command}"][3:]
            )


def test_probes_ask_what_the_proxy_would_ask() -> None:
    container = pods()["shop-web"]["containers"][0]
    for probe, path in (("livenessProbe", "/ops/healthz"), ("readinessProbe", "/ops/readyz")):
        asked = container[probe]["httpGet"]
        headers = {each["name"]: each["value"] for each in asked["httpHeaders"]}
        assert (asked["path"], asked["port"]) == (path, container["ports"][0]["name"])
        assert headers == {"Host": "ops.example.org", "X-Forwarded-Proto": "https"}


def test_keda_scales_each_worker_by_a_metric_that_is_exposed(exposed: dict[str, set[str]]) -> None:
    scaled = {each["spec"]["scaleTargetRef"]["name"]: each["spec"] for each in full() if each["kind"] == "ScaledObject"}
    assert set(scaled) == {"shop-worker-default", "shop-worker-mail"}
    for spec in scaled.values():
        (trigger,) = spec["triggers"]
        ((name, matchers),) = METRIC.findall(trigger["metadata"]["query"])
        assert set(re.findall(r"(\w+)=", matchers)) <= exposed[name]
    query = scaled["shop-worker-mail"]["triggers"][0]["metadata"]["query"]
    assert query == 'sum(queueops_waiting_seconds{pool=~"mail|bulk"})'
    by_name = {each["metadata"]["name"]: each["spec"] for each in full() if each["kind"] == "Deployment"}
    assert all("replicas" not in by_name[name] for name in scaled)
