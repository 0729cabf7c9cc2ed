"""Server that speaks S3: the one of moto, in a process of its own. It ends with its standard input."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def serving_s3() -> Iterator[str]:
    """Serve on a free port until the end of the block; gives the URL."""
    command = [sys.executable, "-m", __name__]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        yield process.stdout.readline().decode().strip()
        process.stdin.close()


def client_of(url: str) -> Any:
    """A client of the server, of which no storage knows."""
    import boto3

    return boto3.client(
        "s3", endpoint_url=url, region_name="eu-central-1", aws_access_key_id="key", aws_secret_access_key="secret"
    )


if __name__ == "__main__":
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(port=0, verbose=False)
    server.start()
    print("http://{}:{}".format(*server.get_host_and_port()), flush=True)
    sys.stdin.read()
    server.stop()
