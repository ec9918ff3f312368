"""Slots: how many tasks a session runs at once, as far as the session can tell."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def slots_of(spark: SparkSession) -> int | None:
    """How many tasks the session runs at once; None where the session cannot tell, or where that number changes.

    A cluster's executors may still be on their way, so what the configuration asks for counts as well.
    """
    if _told(spark, "spark.dynamicAllocation.enabled") == "true":
        return None  # Spark adds executors while tasks wait: with few partitions it would not add any.
    cores = max(_present(spark), _configured(spark))
    return max(1, cores // _number(spark, "spark.task.cpus", 1)) if cores else None


def _present(spark: SparkSession) -> int:
    """The cores that executors offer at this moment, unless the configuration names another parallelism; 0: not known."""
    try:
        return int(spark.sparkContext.defaultParallelism)
    except Exception:  # Spark Connect has no context
        return 0


def _configured(spark: SparkSession) -> int:
    """The cores that the configuration asks for, as in local[4], or with so many executors of so many cores; 0: not known."""
    local = re.fullmatch(r"local(?:\[(\d+)(?:,.*)?\])?", _told(spark, "spark.master"))
    if local is not None:
        return int(local[1] or 1)
    cores = _number(spark, "spark.executor.instances", 0) * _number(spark, "spark.executor.cores", 1)
    return _number(spark, "spark.cores.max", cores)


def _number(spark: SparkSession, name: str, default: int) -> int:
    told = _told(spark, name)
    return int(told) if told.isdigit() and int(told) else default


def _told(spark: SparkSession, name: str) -> str:
    return spark.conf.get(name, "") or ""
