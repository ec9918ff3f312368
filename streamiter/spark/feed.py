"""Feeding: a Stream's records into Spark, batch by batch, the token saved after each batch is written."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streamiter.spark.formats import record_type
from streamiter.stream import Stream
from streamiter.stream.table import records_to_table

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

    After each `write` the token goes to `save`: a function, or a file, which is written beside and renamed. So a crash
    repeats at most the batch that it fell into. Where `write` or `save` raises, the stream stands before that batch again.
    With `until=None` it goes on until the stream is closed.
    """
    put = save if callable(save) else _saver(Path(save))
    kind = record_type(stream._source)
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


def _saver(path: Path) -> Callable[[Token], object]:
    def save(token: Token) -> None:
        beside = path.with_name(f"{path.name}.{os.getpid()}.new")
        with beside.open("w") as file:
            json.dump(token, file)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)

    return save
