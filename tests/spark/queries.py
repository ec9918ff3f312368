"""Queries: streaming queries that tests start, stop, and see the micro-batches of."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, Row
from pyspark.sql.streaming import DataStreamReader, StreamingQuery

LONG = 240.0  # seconds that anything may take on a machine that does much else
# Spark gives the Python process of a streaming source 10 seconds to start, and no option for that.
LATE = "Python worker failed to connect back"


def end_of(start: Callable[[], StreamingQuery], query: StreamingQuery | None = None) -> str | None:
    """What a query failed of, once it has ended. One whose process Spark did not wait for is started again."""
    while True:
        query = query or start()
        with contextlib.suppress(StreamingQueryException):
            assert query.awaitTermination(LONG), "it does not end"
        error = query.exception()
        if error is None or LATE not in str(error):
            return None if error is None else str(error)
        query = None


class Batch(NamedTuple):
    """A micro-batch as its sink saw it."""

    id: int
    rows: list[Row]  # by order key


class Queries:
    """Starts queries on one checkpoint, one after the other."""

    def __init__(self, reader: Callable[[], DataStreamReader], checkpoint: Path) -> None:
        self.checkpoint = checkpoint
        self.batches: list[Batch] = []
        self.query: StreamingQuery | None = None
        self._reader = reader

    @property
    def rows(self) -> list[Row]:
        """All rows so far, as the sink saw them."""
        return [row for batch in self.batches for row in batch.rows]

    @property
    def identities(self) -> list[tuple[str, str]]:
        """Which records came, by order key."""
        rows = sorted(self.rows, key=lambda row: row.order_key)
        return [(row.shard_id, row.sequence_number) for row in rows]

    def frame(self) -> DataFrame:
        """The stream as a DataFrame."""
        return self._reader().load()

    def start(
        self,
        *,
        schema: str | None = None,
        each: Callable[[DataFrame, int], Any] | None = None,
        trigger: dict[str, Any] | None = None,
        **options: Any,
    ) -> StreamingQuery:
        """A query whose micro-batches are noted, or go to `each`."""
        reader = self._reader()
        for name, value in options.items():
            reader = reader.option(name, value)
        frame = (reader if schema is None else reader.schema(schema)).load()
        writer = frame.writeStream.foreachBatch(each or self._note).option("checkpointLocation", str(self.checkpoint))
        self._start = (writer if trigger is None else writer.trigger(**trigger)).start
        self.query = self._start()
        return self.query

    def run(self, **options: Any) -> None:
        """A query that reads all that is there, and ends."""
        self.start(trigger={"availableNow": True}, **options)
        assert self.error() is None

    def error(self) -> str | None:
        """What the query failed of, once it has ended."""
        return end_of(self._start, self.query)

    def until(self, holds: Callable[[], bool]) -> None:
        """Waits until something holds; raises what the query failed of."""
        deadline = time.monotonic() + LONG
        while not holds():
            assert self.query is not None
            if not self.query.isActive:
                error = self.query.exception()
                assert LATE in str(error), f"the query ended: {error}"
                self.query = self._start()
            assert time.monotonic() < deadline, f"it does not come to hold; {len(self.rows)} rows came"
            time.sleep(0.02)

    def until_rows(self, count: int) -> None:
        """Waits for so many rows."""
        self.until(lambda: len(self.rows) >= count)

    def stop(self) -> None:
        """Stops the query, if one runs."""
        if self.query is not None:
            self.query.stop()

    def _note(self, frame: DataFrame, batch_id: int) -> None:
        rows = sorted(frame.collect(), key=lambda row: row.order_key)
        self.batches.append(Batch(batch_id, rows))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
