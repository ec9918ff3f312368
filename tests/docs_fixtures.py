"""What pages of the docs may ask for with `<!-- fixture: NAME -->`: something running, and the names it goes by.

Each is a generator: it gets pytest's monkeypatch (for environment variables, say), starts what it needs on loopback,
yields the names for the page's namespace, and stops it again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from streamiter.clock import SystemClock
from streamiter.demo.orders import TABLE
from streamiter.demo.shop import HISTORY_SECONDS, Shop
from streamiter.testing import RunningClock, Simulator

Names = dict[str, object]
Fixture = Callable[[pytest.MonkeyPatch], Iterator[Names]]


def orders(monkeypatch: pytest.MonkeyPatch) -> Iterator[Names]:
    """The table `orders` with two hours of changes, as `streamiter simulate --orders` serves it, but at rest."""
    clock = RunningClock(SystemClock().now() - HISTORY_SECONDS)
    with Simulator(table=TABLE, ids="service", clock=clock) as sim:
        point_to(sim, monkeypatch)
        Shop(sim, clock).write_history()
        yield {}


def tables(monkeypatch: pytest.MonkeyPatch) -> Iterator[Names]:
    """A service without any table; what is asked of it by boto3 without further words reaches it."""
    with Simulator(table=None, ids="service", clock=RunningClock()) as sim:
        point_to(sim, monkeypatch)
        yield {}


def point_to(sim: Simulator, monkeypatch: pytest.MonkeyPatch) -> None:
    """boto3 finds this service, with credentials that are none, and nothing of this machine's own configuration."""
    for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_REGION", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_ENDPOINT_URL", sim.endpoint_url)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "any")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "any")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nowhere/config")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nowhere/credentials")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


FIXTURES: dict[str, Fixture] = {"orders": orders, "tables": tables}
