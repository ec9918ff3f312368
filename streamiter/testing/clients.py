"""Clients: boto3 clients that talk to a simulator, with credentials that are none."""

from __future__ import annotations

import functools
import threading
from typing import Any

import boto3
from botocore.config import Config

from streamiter.testing.truth.service import REGION

_making = threading.Lock()


def make_client(service: str, endpoint_url: str, *, validates: bool, options: dict[str, Any]) -> Any:
    """A client without retries of its own; `options` go to boto3, their `config` is merged in."""
    # No proxies: the environment's proxies are not for loopback.
    config = Config(retries={"max_attempts": 0}, parameter_validation=validates, proxies={})
    config = config.merge(options.get("config") or Config())
    with _making:  # Clients may be shared by threads; sessions may not.
        return _session().client(service, **{"endpoint_url": endpoint_url, **options, "config": config})


@functools.cache
def _session() -> Any:
    # One for all: it keeps boto3's service models, which take 25 times as long to load as a client takes to make.
    return boto3.session.Session(aws_access_key_id="simulator", aws_secret_access_key="simulator", region_name=REGION)
