"""The service: tables and their streams as they really are; pure, with time as an argument and no HTTP."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from streamiter.clock import microseconds
from streamiter.testing.http.refusal import invalid, not_found
from streamiter.testing.trouble.knobs import Knobs
from streamiter.testing.truth.life import Life
from streamiter.testing.truth.records import ViewType
from streamiter.testing.truth.rendering import FIRST_NUMBER
from streamiter.testing.truth.simulated_table import SimulatedTable
from streamiter.testing.truth.streams import SimulatedStream

REGION = "us-east-1"
ACCOUNT = "000000000000"

_ARN = re.compile(r"arn:aws[\w-]*:dynamodb:[\w-]+:\d{12}:table/[\w.-]{3,255}/stream/[\w:.-]+")
_TABLE = re.compile(r"[\w.-]{3,255}", re.ASCII)


class Service:
    """All that is true; what the calls tell of it is stream_calls.py."""

    def __init__(self, knobs: Knobs, region: str | None = None, account: str = ACCOUNT) -> None:
        if not re.fullmatch(r"\d{12}", account) or (region is not None and not re.fullmatch(r"[\w-]+", region)):
            raise ValueError(f"an account has 12 digits, a region letters, digits and dashes: {account!r}, {region!r}")
        self.knobs = knobs
        self.region = region  # None: tables are where the clients are that make them
        self.account = account
        self.tables: dict[str, SimulatedTable] = {}
        self.streams: dict[str, SimulatedStream] = {}  # all that were ever enabled, by ARN
        self._number = FIRST_NUMBER
        self._made = 0  # tables

    def create_table(
        self, name: str, key_schema: list[dict[str, str]], now_us: int, signed_region: str | None = None
    ) -> SimulatedTable:
        """A table, as yet without a stream."""
        if name in self.tables:
            raise ValueError(f"there is a table {name!r} already")
        if not _TABLE.fullmatch(name):
            raise ValueError(f"a table's name has 3 to 255 letters, digits and _.-, not {name!r}")
        arn = self.arn_of(name, signed_region)
        self.tables[name] = SimulatedTable(name, arn, key_schema, now_us, self._made)
        self._made += 1
        return self.tables[name]

    def arn_of(self, name: str, signed_region: str | None = None) -> str:
        """The ARN of a table of this name, which there may be or not."""
        return f"arn:aws:dynamodb:{self.region or signed_region or REGION}:{self.account}:table/{name}"

    def drop_table(self, table: SimulatedTable, now_us: int) -> None:
        """The table is gone; its stream stays readable, as a disabled one does."""
        if table.has_stream:
            table.latest.disable(now_us, 0)
        del self.tables[table.name]

    def enable_by_itself(self, table: SimulatedTable, view: ViewType, now_us: int) -> SimulatedStream:
        """A new stream that shards by itself, as the knobs say."""
        takes_us = microseconds(self.knobs.enabling)
        stream = self.enable(table, view, now_us, takes_us, keep_ids=False, shards_itself=True)
        stream.grow(self.knobs.starting_shape, now_us, self.next_number)
        return stream

    def enable(
        self,
        table: SimulatedTable,
        view: ViewType,
        now_us: int,
        takes_us: int,
        *,
        keep_ids: bool,
        shards_itself: bool = False,
    ) -> SimulatedStream:
        """A new stream of the table, with an ARN of its own."""
        if table.streams and not table.latest.life.has_ended:
            raise ValueError(f"table {table.name!r} has a stream already; disable() it first")
        label_us = now_us
        while f"{table.arn}/stream/{_label(label_us)}" in self.streams:
            label_us += 1000
        stream = SimulatedStream(
            f"{table.arn}/stream/{_label(label_us)}",
            table,
            view,
            Life(now_us, now_us + takes_us),
            keep_ids=keep_ids,
            shards_itself=shards_itself,
        )
        table.streams.append(stream)
        self.streams[stream.arn] = stream
        return stream

    @property
    def self_sharding(self) -> list[SimulatedStream]:
        """The streams that roll and split by themselves, now."""
        latest = [table.latest for table in self.tables.values() if table.has_stream]
        return [stream for stream in latest if stream.shards_itself]

    def next_number(self, above: int = 0) -> int:
        """A sequence number greater than any given out so far, and than `above`; with gaps, as the service leaves them."""
        self._number = max(self._number, above)
        self._number += 1 + self._number * 7919 % 997
        return self._number

    # -- as calls find it

    def stream(self, arn: str, now_us: int) -> SimulatedStream:
        """The stream with this ARN; a refusal when there is none (any more)."""
        check_arn(arn)
        stream = self.streams.get(arn)
        if stream is None or stream.life.is_over(now_us, self.knobs.retention):
            raise not_found(f"Stream: {arn} not found")
        return stream

    def table(self, name: str) -> SimulatedTable:
        """The table of this name or ARN; a refusal when there is none."""
        try:
            return self.tables[name.rpartition(":table/")[2]]
        except KeyError:
            raise not_found(f"Table: {name} not found") from None


def check_arn(arn: str) -> None:
    """Refuses what is no stream's ARN."""
    if not _ARN.fullmatch(arn):
        raise invalid("Invalid StreamArn")


def _label(time_us: int) -> str:
    return datetime.fromtimestamp(time_us // 1000 / 1000, UTC).isoformat(timespec="milliseconds")[:23]
