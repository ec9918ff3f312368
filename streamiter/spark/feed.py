"""Feeding: hands a Stream's records to Spark batch by batch, and saves the token after each batch that was written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streamiter.stream import Stream
from streamiter.stream.table import records_to_table
from streamiter.tokenfile import TokenFile

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Token = dict[str, Any]


def feed(
    stream: Stream,
    spark: SparkSession,
    write: Callable[[DataFrame], object],
    save: str | Path | Callable[[Token], object],
    *,
    size: int = 100_000,
    until: str | None = "caught_up",
) -> int:
    """Hands the stream's records to `write` as DataFrames of up to `size` rows, in order; gives how many there were.

    After each `write` the token goes to `save`: a function, or a file, which is replaced as a whole. So after a crash at most
    one batch comes again. If `write` or `save` raises, the stream goes back to before that batch. With `until=None` it goes
    on until the stream is closed.
    """
    put = save if callable(save) else TokenFile(save).save
    kind = stream._source.record_type
    before, rows = stream.token, 0
    for batch in stream.batches(size, until=until):
        table = records_to_table(batch, batch.token["stream"], kind)
        try:
            write(spark.createDataFrame(table))
            put(batch.token)
        except BaseException:
            stream.move_to(before)
            raise
        before = batch.token
        rows += len(batch)
    return rows
