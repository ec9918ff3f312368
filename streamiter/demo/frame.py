"""The frame: the demo's changes as a Spark DataFrame, counted by what happened."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from streamiter import Stream, StreamiterError
from streamiter.demo.screen import MARGIN, Screen
from streamiter.terminal import Span

TITLE = "The same changes as a Spark DataFrame, counted"
QUERY = """
    select coalesce(get_json_object(new_image, '$.status.S'), 'deleted') as status,
           count(*) as changes, count(distinct keys) as orders,
           sum(cast(get_json_object(new_image, '$.total.N') as decimal(12, 2))) as total
    from changes group by 1 order by min(order_key)
"""
HEADINGS = ("status", "changes", "orders", "total")
WIDTH = 10


def has_spark() -> bool:
    """Whether Spark is installed here: it is an extra, and a large one."""
    return find_spec("pyspark") is not None and find_spec("pyarrow") is not None


def show_frame(screen: Screen, stream: Stream, folder: Path) -> None:
    """Starts Spark, has it count what the stream holds, and ends it; says what is missing where it cannot."""
    screen.line([Span(TITLE, "bold")])
    try:
        rows = _count(stream, folder)
    except StreamiterError as error:
        screen.line([MARGIN, Span(str(error), "dim")])
        return
    screen.line([MARGIN, Span("".join(f"{heading:>{WIDTH}}" for heading in HEADINGS), "dim")])
    for row in rows:
        screen.line([MARGIN, Span("".join(f"{'' if value is None else value!s:>{WIDTH}}" for value in row))])


def _count(stream: Stream, folder: Path) -> list[tuple[Any, ...]]:
    from streamiter.spark import ensure_java

    ensure_java()
    changes = stream.to_arrow()
    with _session(folder) as spark:
        spark.createDataFrame(changes).createTempView("changes")
        return [tuple(row) for row in spark.sql(QUERY).collect()]


@contextmanager
def _session(folder: Path) -> Iterator[Any]:
    """A session of this process alone; nothing of it is left, and what Java has to say is not heard."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    for name, value in {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.log.level": "OFF",
        "spark.sql.shuffle.partitions": "1",
        "spark.ui.showConsoleProgress": "false",
        "spark.local.dir": str(folder),
        "spark.driver.extraJavaOptions": f"-Djava.io.tmpdir={folder}",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
    }.items():
        builder = builder.config(name, value)
    with _quiet():
        try:
            yield builder.getOrCreate()
        finally:
            gateway = SparkContext._gateway
            if (active := SparkSession.getActiveSession()) is not None:
                active.stop()
            if gateway is not None:
                gateway.shutdown()
                gateway.proc.stdin.close()
                gateway.proc.wait(30)


@contextmanager
def _quiet() -> Iterator[None]:
    """Nothing is written to standard error, by whatever process."""
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)
