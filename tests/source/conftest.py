"""Fixtures of the source tests: a service on loopback, and an environment in which nothing of AWS is configured."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from streamiter.testing import Simulator


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """No credentials, no region, no profile, no configuration file, no metadata service."""
    import os

    for name in list(os.environ):
        if name.startswith("AWS_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nowhere/config")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nowhere/credentials")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    return monkeypatch


@pytest.fixture
def credentials(bare: pytest.MonkeyPatch) -> None:
    """Credentials in the environment, as a user has them."""
    bare.setenv("AWS_ACCESS_KEY_ID", "simulator")
    bare.setenv("AWS_SECRET_ACCESS_KEY", "simulator")


@pytest.fixture
def sim(credentials: None) -> Iterator[Simulator]:
    with Simulator(ids="service") as simulator:
        yield simulator
