"""Operations of Kinesis, by what they are about: each group finds its stream in the same way."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from streamiter.testing.kinesis.asked import check_names_stream
from streamiter.testing.kinesis.service import KinesisService
from streamiter.testing.kinesis.truth import KinesisTruth
from streamiter.testing.trouble.knobs import Knobs

Asked = dict[str, Any]
Operation = Callable[[Asked, int], Any]


class Operations(ABC):
    """A group. `all` has them by name: each takes what was asked and the moment, and gives the answer."""

    def __init__(self, service: KinesisService, knobs: Knobs) -> None:
        self._service = service
        self._knobs = knobs

    @property
    @abstractmethod
    def all(self) -> dict[str, Operation]:
        """The operations, by name."""

    def _owner(self, stream: str) -> str:
        """The stream as errors name it."""
        return f"stream {stream} under account {self._service.account}"

    def _stream(self, asked: Asked, now_us: int) -> KinesisTruth:
        """The stream asked about."""
        check_names_stream(asked)
        return self._service.stream(asked.get("StreamName"), asked.get("StreamARN"), now_us)

    def _made(self, asked: Asked, now_us: int) -> KinesisTruth:
        """The same, if it takes and gives records."""
        check_names_stream(asked)
        return self._service.made(asked.get("StreamName"), asked.get("StreamARN"), now_us)

    def _active(self, asked: Asked, now_us: int) -> KinesisTruth:
        """The same, if it may be changed."""
        check_names_stream(asked)
        return self._service.active(asked.get("StreamName"), asked.get("StreamARN"), now_us)
