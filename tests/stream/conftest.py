"""Fixtures of the Stream tests: a simulator, and streams on it that are closed at the end.

Tests run indoors: no socket, and calls made one after the other. Those marked `outdoors`, and those that ask for `served`,
are about what is left out there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from botocore.config import Config

from streamiter import DynamoDBStreams, Stream
from streamiter.testing import Simulator, Table
from tests.indoors import IndoorSimulator, taking_turns
from tests.stream.telling import Told

HERE = Path(__file__).parent

Open = Callable[..., Stream]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents and "served" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.outdoors)


@pytest.fixture(autouse=True)
def is_indoors(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[bool]:
    """Whether this test is: then a socket is an error, and streams have no threads."""
    if request.node.get_closest_marker("outdoors"):
        yield False
        return
    monkeypatch.setattr("socket.socket.bind", refuse_socket)
    monkeypatch.setattr("socket.socket.connect", refuse_socket)
    with taking_turns():
        yield True


def refuse_socket(*_: object) -> None:
    raise AssertionError("a socket: mark this test `outdoors`, or let it run indoors")


@pytest.fixture
def sim(is_indoors: bool) -> Iterator[Simulator]:
    with IndoorSimulator() if is_indoors else Simulator() as simulator:
        yield simulator


@pytest.fixture
def open_stream(sim: Simulator) -> Iterator[Open]:
    """`open_stream(position, **options)`: a stream of the simulator's table (or of `table=`), on its clock."""
    with ExitStack() as closing:

        def opened(
            position: Any = "trim_horizon", *, table: Table = sim, arn: str | None = None, **options: Any
        ) -> Stream:
            options.setdefault("clock", sim.clock)
            source = DynamoDBStreams(arn or table.stream_arn, client=sim.client(config=Config(max_pool_connections=64)))
            return closing.enter_context(Stream(source, position, **options))

        yield opened


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Iterator[Simulator]:
    """A simulator with ids that boto3 lets pass, reached as by a user: by endpoint, credentials in the environment."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "simulator")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "simulator")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nowhere/config")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nowhere/credentials")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_ENDPOINT_URL"):
        monkeypatch.delenv(name, raising=False)
    with Simulator(ids="service") as simulator:
        yield simulator


@pytest.fixture
def told() -> Told:
    return Told()
