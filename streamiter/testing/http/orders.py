"""Orders: calls as they are read, by the desk of the API that they are for; one endpoint has several, told apart by target."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from streamiter.testing.http.eventstream import Happening
from streamiter.testing.http.refusal import Refusal


@dataclass
class Order:
    """One call: how to serve it, which shard it is about, and what to write down of it."""

    serve: Callable[[int], bytes]  # takes the moment, gives the answer's body, or refuses
    shards: tuple[str, ...] = ()  # what the shard that it is about goes by: the test's name for it, and its id
    details: dict[str, Any] = field(default_factory=dict)  # members of calls.Call; serving may add to them
    cbor: Callable[[], bytes] | None = None  # the answer in CBOR, where there is a faster way than from JSON
    # What follows after that, for an answer that goes on: the messages of this moment, or None at its end.
    following: Callable[[int], list[Happening] | None] | None = None


class Desk(Protocol):
    """One API."""

    @property
    def content_type(self) -> str:
        """Of its answers."""
        ...

    @property
    def is_spared(self) -> bool:
        """Whether faults and weather leave its calls alone."""
        ...

    def read(self, operation: str, body: bytes, signed_region: str | None) -> Order:
        """A call as an order; a refusal when its form is wrong. The region is that of the client."""
        ...

    def write_refusal(self, refusal: Refusal) -> bytes:
        """The body of an error answer."""
        ...
