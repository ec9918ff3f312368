"""The simulator without its server."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

from streamiter.testing import Simulator
from tests.indoors.client import IndoorClient


class NoServer:
    """Where the server would be."""

    def __init__(self, reception: object, port: int = 0, **options: object) -> None:
        pass

    @property
    def port(self) -> int:
        raise NotImplementedError("nothing listens indoors: mark this test `outdoors`")

    def close(self) -> None:
        pass


class IndoorSimulator(Simulator):
    """A simulator that only its own clients reach, each call on the thread that makes it."""

    def __init__(self, *args: Any, **options: Any) -> None:
        with patch("streamiter.testing.simulator.Server", NoServer):
            super().__init__(*args, **options)

    def client(self, service: str = "dynamodbstreams", **options: Any) -> Any:
        return IndoorClient(service, self._reception, **options)
