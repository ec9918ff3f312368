"""A cluster on this machine: `python -m tests.spark.on_cluster URL ARN FOLDER` tells its Java and the order keys it reads."""

from __future__ import annotations

import json
import sys

from streamiter.spark import ensure_java, register
from tests.spark.conftest import session_of
from tests.spark.queries import end_of


def main(url: str, arn: str, folder: str) -> None:
    ensure_java()
    spark = session_of("local-cluster[1,2,1024]")
    register(spark)

    def stream_of(reader):
        return reader.format("dynamodb_streams").option("streamArn", arn).option("endpointUrl", url).load()

    def tell(told: str | list[str]) -> None:
        print(json.dumps(told), flush=True)

    tell(spark._jvm.System.getProperty("java.version"))
    tell([row.order_key for row in stream_of(spark.read).orderBy("order_key").collect()])
    for run in range(2):
        keys: list[str] = []

        def each(frame, _, keys=keys):
            keys += [row.order_key for row in frame.select("order_key").collect()]

        writer = stream_of(spark.readStream).writeStream.foreachBatch(each)
        writer = writer.option("checkpointLocation", f"{folder}/checkpoint").trigger(availableNow=True)
        assert end_of(writer.start) is None
        tell(keys)
        if run == 0:
            sys.stdin.readline()
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
