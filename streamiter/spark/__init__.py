"""Spark: change streams as DataFrames, in bulk and continuously, over PySpark's own data source interface."""

from importlib.util import find_spec as _find_spec

from streamiter.errors import MissingExtra

if _find_spec("pyspark") is None:
    raise MissingExtra("pyspark", "spark")

from streamiter.spark.checkpoint import token_from_checkpoint as token_from_checkpoint
from streamiter.spark.columns.variant import as_variant as as_variant
from streamiter.spark.delta import merge_delta as merge_delta
from streamiter.spark.feed import feed as feed
from streamiter.spark.latest import latest_per_key as latest_per_key
from streamiter.spark.machine.java import ensure_java as ensure_java
from streamiter.spark.register import register as register
