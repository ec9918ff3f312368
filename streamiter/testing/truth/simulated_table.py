"""Tables as they really are, as far as streams go: their keys, their streams, and all that was ever written."""

from __future__ import annotations

from dataclasses import dataclass, field
from uuid import NAMESPACE_URL, uuid5

from streamiter.testing.truth.records import EventName, Origin, ViewType, WrittenRecord
from streamiter.testing.truth.rendering import Rendered, frame_of
from streamiter.testing.truth.streams import SimulatedStream


@dataclass
class SimulatedTable:
    """A table, as far as its streams go."""

    name: str
    arn: str
    key_schema: list[dict[str, str]]
    created_us: int
    serial: int  # how many tables were made before it
    streams: list[SimulatedStream] = field(default_factory=list)  # oldest first
    history: list[WrittenRecord] = field(default_factory=list)  # every record, in the order really written
    rendered: Rendered = field(default_factory=Rendered, repr=False)
    _origins: dict[tuple[object, ...], Origin] = field(default_factory=dict, repr=False)

    def origin(self, shard_id: str, event: EventName, view: ViewType, identity: dict[str, str] | None) -> Origin:
        """The fields that the records of a shard share, as one object."""
        place = shard_id, event, view, identity and tuple(identity.items())
        if place not in self._origins:
            serial = self.serial if self.serial >= 0 else 0
            frame = frame_of(self.region, view, event, serial, identity)
            self._origins[place] = Origin(shard_id, event, identity, frame)
        return self._origins[place]

    @property
    def id(self) -> str:
        """An id in the service's form, the same each time."""
        return str(uuid5(NAMESPACE_URL, f"{self.arn} {self.created_us}"))

    @property
    def region(self) -> str:
        return self.arn.split(":")[3]

    @property
    def key_names(self) -> list[str]:
        return [element["AttributeName"] for element in self.key_schema]

    @property
    def hash_key(self) -> str:
        return next(element["AttributeName"] for element in self.key_schema if element["KeyType"] == "HASH")

    @property
    def has_stream(self) -> bool:
        """Whether changes are told now."""
        return bool(self.streams) and not self.latest.life.has_ended

    @property
    def latest(self) -> SimulatedStream:
        """The stream that was enabled last."""
        if not self.streams:
            raise LookupError(f"table {self.name!r} has no stream; enable() gives it one")
        return self.streams[-1]


def nobodys_table() -> SimulatedTable:
    """A table that no call finds: the handle of a simulator that begins without any."""
    return SimulatedTable("(none)", "", [], 0, -1)
