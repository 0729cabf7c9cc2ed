"""The settings of jobs: each wrong value is an error that names it, and shows no secret."""

from __future__ import annotations

from typing import Any

from queueops import conf
from queueops.kinds.jobs.settings import JobSettings, of_jobs
from tests.support.for_each import for_each

SECRET = "whsec_" + "A" * 32


def test_without_a_setting_each_has_its_default(settings: Any) -> None:
    settings.QUEUEOPS = {}
    assert of_jobs() == JobSettings()


def test_what_is_set_is_read(settings: Any) -> None:
    settings.QUEUEOPS = {"JOBS": {"PORTS": [443, 80], "PRIVATE_NETWORKS": ["10.0.0.0/8"], "CALLBACK_SECRETS": [SECRET]}}
    assert of_jobs().ports == (80, 443)
    assert [str(each) for each in of_jobs().private_networks] == ["10.0.0.0/8"]
    assert of_jobs().callback_secrets == (SECRET,)


@for_each(
    ("given", "said"),
    [
        ({"PRIVATE_NETWORKS": ["10.0.0.1/8"]}, "must be a list of networks such as"),
        ({"PORTS": "80"}, "must be a list of ports, or None for any port"),
        ({"PORTS": [0]}, "must be a whole number from 1 to 65535"),
        ({"MAX_SIZE": 0}, "must be a whole number of at least 1"),
        ({"DOWNLOAD_TIMEOUT": -1}, "must be a number of seconds"),
        ({"REQUEST_HEADERS": {"Host": "secret-x"}}, "['REQUEST_HEADERS']['Host'] is '[redacted]', but it must be"),
        ({"CALLBACK_SECRETS": ["secret-x"]}, 'must be "whsec_" and 24 to 64 bytes in base64'),
        ({"PORT": [80]}, "There is no setting QUEUEOPS['JOBS']['PORT']; did you mean 'PORTS'?"),
        (7, "QUEUEOPS['JOBS'] is 7, but it must be a dict"),
    ],
)
def test_a_wrong_value_is_an_error_that_says_what_to_write(given: object, said: str) -> None:
    _, errors = conf.read_settings({"JOBS": given})
    assert [said in str(error) for error in errors] == [True]
    assert "secret-x" not in str(errors[0])


def test_a_near_name_of_the_key_is_proposed() -> None:
    _, errors = conf.read_settings({"JOB": {}})
    assert "did you mean 'JOBS'?" in str(errors[0])
