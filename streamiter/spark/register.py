"""Registering: makes the formats known to a session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamiter.spark.datasource import DATA_SOURCES
from streamiter.spark.workers import check_python

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def register(spark: SparkSession) -> None:
    """Makes the formats `dynamodb_streams` and `kinesis_streams` known to a session, for `spark.read` and `spark.readStream`.

    Raises where the Python of Spark's workers cannot read streams.
    """
    check_python(spark)
    for kind in DATA_SOURCES:
        spark.dataSource.register(kind)
