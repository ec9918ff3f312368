"""A query that kills itself: `python -m tests.spark.killed_query URL ARN FOLDER before|after BATCH`.

Each micro-batch is noted in FOLDER/notes, and merged into the Delta table FOLDER/delta. In the batch named, the process group
dies by SIGKILL: before anything is written, or after the merge, when Spark has not committed the batch yet.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

from pyspark.sql import DataFrame

from streamiter.spark import ensure_java, merge_delta, register
from tests.spark.conftest import CREDENTIALS, session_of
from tests.spark.queries import end_of


def note(frame: DataFrame, batch_id: int, folder: Path) -> None:
    """Writes down which rows a micro-batch had, once for each time that it ran."""
    keys = sorted(row.order_key for row in frame.select("order_key").collect())
    attempt = len(list(folder.glob(f"{batch_id}-*")))
    (folder / f"{batch_id}-{attempt}").write_text(json.dumps(keys))


def main(url: str, arn: str, folder: Path, when: str, batch: int) -> None:
    os.environ.update(CREDENTIALS, PYSPARK_PYTHON=sys.executable, SPARK_LOCAL_IP="127.0.0.1")
    ensure_java()
    spark = session_of("local[2]")
    register(spark)
    merge = merge_delta(str(folder / "delta"))

    def each(frame: DataFrame, batch_id: int) -> None:
        note(frame, batch_id, folder / "notes")
        if (when, batch) == ("before", batch_id):
            os.killpg(0, signal.SIGKILL)
        merge(frame, batch_id)
        if (when, batch) == ("after", batch_id):
            os.killpg(0, signal.SIGKILL)

    reader = spark.readStream.format("dynamodb_streams").option("streamArn", arn).option("endpointUrl", url)
    writer = reader.load().writeStream.foreachBatch(each).option("checkpointLocation", str(folder / "checkpoint"))
    assert end_of(writer.trigger(availableNow=True).start) is None


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]), sys.argv[4], int(sys.argv[5]))
