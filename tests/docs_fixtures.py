"""What pages of the docs may ask for with `<!-- fixture: NAME -->`: something running, and the names it goes by.

Each is a generator: it gets pytest's monkeypatch (for environment variables, say), starts what it needs on loopback,
yields the names for the page's namespace, and stops it again.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from decimal import Decimal

import pytest

from streamiter import DynamoDBStreams
from streamiter.clock import SystemClock
from streamiter.demo.orders import TABLE
from streamiter.demo.shop import HISTORY_SECONDS, Shop
from streamiter.testing import RunningClock, Simulator

Names = dict[str, object]
Fixture = Callable[[pytest.MonkeyPatch], Iterator[Names]]
HOUR = 3600


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


def spark_table(monkeypatch: pytest.MonkeyPatch) -> Iterator[Names]:
    """A table `users` whose stream has split; yesterday's changes are some hours old, so that the service holds them."""
    from pyspark.sql import SparkSession

    was_there = SparkSession.getActiveSession() is not None
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    with Simulator("S0 => {S1, S2}", ids="service", clock=RunningClock()) as sim:
        point_to(sim, monkeypatch)
        now = int(sim.clock.now())
        ann = {"id": "ann", "age": 30, "paid": Decimal("12.30")}
        sim.put("S0", key="ann", new=ann, created=now - 8 * HOUR)
        sim.put("S0", key="bob", new={**ann, "id": "bob"}, created=now - 7 * HOUR)
        sim.put("S1", key="ann", old=ann, new={**ann, "age": 31}, event="MODIFY", created=now - 3 * HOUR)
        sim.put("S2", key="cid", new={**ann, "id": "cid", "age": 7}, created=now - 2 * HOUR)
        sim.put("S2", key="bob", old={**ann, "id": "bob"}, event="REMOVE", created=now - HOUR)
        yield {
            "table": sim,
            "endpoint_url": sim.endpoint_url,
            "source": DynamoDBStreams("users"),
            "yesterday": datetime.fromtimestamp(now - 10 * HOUR, UTC).isoformat(),
            "today": datetime.fromtimestamp(now - 5 * HOUR, UTC).isoformat(),
        }
    session = SparkSession.getActiveSession()
    if session is not None and not was_there:
        session.stop()


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


FIXTURES: dict[str, Fixture] = {"orders": orders, "tables": tables, "spark_table": spark_table}
