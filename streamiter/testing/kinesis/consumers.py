"""Consumers: who is registered with a stream to be sent its records, and the subscriptions that they hold."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from streamiter.clock import SECOND_US
from streamiter.testing.http.refusal import Refusal
from streamiter.testing.kinesis.asked import wrong
from streamiter.testing.kinesis.settings import MOST_CONSUMERS, MOST_CREATING

if TYPE_CHECKING:
    from streamiter.testing.kinesis.subscription import Subscription


@dataclass
class Consumer:
    """One of them."""

    name: str
    arn: str
    created_us: int
    active_us: int
    tags: dict[str, str] = field(default_factory=dict)
    subscriptions: dict[str, Subscription] = field(default_factory=dict)  # the latest, by shard
    is_gone: bool = False

    def status(self, now_us: int) -> str:
        """Where it stands in its life."""
        return "CREATING" if now_us < self.active_us else "ACTIVE"

    def told(self, now_us: int) -> dict[str, object]:
        """As answers describe it."""
        return {
            "ConsumerName": self.name,
            "ConsumerARN": self.arn,
            "ConsumerStatus": self.status(now_us),
            "ConsumerCreationTimestamp": self.created_us // SECOND_US,
        }


class Consumers:
    """Those of one stream, by name."""

    def __init__(self, stream_arn: str) -> None:
        self._stream_arn = stream_arn
        self._by_name: dict[str, Consumer] = {}

    def __len__(self) -> int:
        return len(self._by_name)

    def register(self, name: str, now_us: int, takes_us: int) -> Consumer:
        """One more."""
        if name in self._by_name:
            told = f"Consumer {name} already exists on stream {self._stream_arn}"
            raise Refusal("ResourceInUseException", told)
        creating = sum(consumer.status(now_us) == "CREATING" for consumer in self._by_name.values())
        if creating >= MOST_CREATING or len(self) >= MOST_CONSUMERS:
            told = f"at most {MOST_CONSUMERS} consumers of a stream, {MOST_CREATING} of them CREATING"
            raise Refusal("LimitExceededException", f"This would be a consumer too many: {told}")
        arn = f"{self._stream_arn}/consumer/{name}:{now_us // SECOND_US}"
        self._by_name[name] = Consumer(name, arn, now_us, now_us + takes_us)
        return self._by_name[name]

    def find(self, name: str | None, arn: str | None) -> Consumer:
        """The one of this name, or ARN; where both are given they have to fit."""
        found = [
            consumer
            for consumer in self._by_name.values()
            if name in (None, consumer.name) and arn in (None, consumer.arn)
        ]
        if name is None and arn is None:
            raise wrong("ConsumerARN, or StreamARN and ConsumerName, must be specified")
        if not found:
            raise not_found(arn or f"{self._stream_arn}/consumer/{name}")
        return found[0]

    def remove(self, consumer: Consumer) -> None:
        """It is deregistered, and its subscriptions end."""
        consumer.is_gone = True
        del self._by_name[consumer.name]

    def clear(self) -> None:
        """The stream is gone, and all of them with it."""
        for consumer in list(self._by_name.values()):
            self.remove(consumer)

    def listed(self) -> list[Consumer]:
        """All, by name."""
        return [self._by_name[name] for name in sorted(self._by_name)]


def not_found(arn: str) -> Refusal:
    """No such consumer."""
    return Refusal("ResourceNotFoundException", f"Consumer {arn} not found.")
