"""Registering: makes the formats known to a session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamiter.spark.datasource import DATA_SOURCES
from streamiter.spark.machine.slots import slots_of
from streamiter.spark.machine.workers import check_python

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def register(spark: SparkSession) -> None:
    """Makes the formats `dynamodb_streams`, `kinesis_streams` and `streamiter` known to a session, to read and to readStream.

    The formats learn how many tasks the session runs at once, and plan as many partitions. Raises where the Python of
    Spark's workers cannot read streams.
    """
    check_python(spark)
    slots = slots_of(spark)
    for kind in DATA_SOURCES:
        spark.dataSource.register(kind.with_slots(slots))
