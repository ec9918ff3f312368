"""A query that kills itself: `python -m tests.spark.killed_query URL ARN FOLDER`.

Each micro-batch is noted in FOLDER/notes, and merged into the Delta table FOLDER/delta. Before the first batch is written, the
checkpoint is copied to FOLDER/first, as a process that dies there would leave it. Once all that is there was read, it says so,
and waits for a line. Then it reads on, and after the merge of the next batch, when Spark has not committed that batch yet, the
process group dies by SIGKILL.
"""

from __future__ import annotations

import json
import os
import shutil
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


def main(url: str, arn: str, folder: Path) -> None:
    os.environ.update(CREDENTIALS, PYSPARK_PYTHON=sys.executable, SPARK_LOCAL_IP="127.0.0.1")
    ensure_java()
    spark = session_of("local[2]")
    register(spark)
    merge = merge_delta(str(folder / "delta"))
    dies = False

    def each(frame: DataFrame, batch_id: int) -> None:
        note(frame, batch_id, folder / "notes")
        if batch_id == 0:
            shutil.copytree(folder / "checkpoint", folder / "first")
        merge(frame, batch_id)
        if dies:
            os.killpg(0, signal.SIGKILL)

    reader = spark.readStream.format("dynamodb_streams").option("streamArn", arn).option("endpointUrl", url)
    writer = reader.load().writeStream.foreachBatch(each).option("checkpointLocation", str(folder / "checkpoint"))
    writer = writer.trigger(availableNow=True)
    assert end_of(writer.start) is None
    print("read", flush=True)
    sys.stdin.readline()
    dies = True
    end_of(writer.start)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
