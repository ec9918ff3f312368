"""Spark: change streams as DataFrames, in bulk and continuously, over PySpark's own data source interface."""

from streamiter.errors import MissingExtra

try:
    import pyspark as _pyspark  # noqa: F401 - only to see whether it is there
except ImportError as _error:
    raise MissingExtra("pyspark", "spark") from _error

from streamiter.spark.checkpoint import token_from_checkpoint as token_from_checkpoint
from streamiter.spark.delta import merge_delta as merge_delta
from streamiter.spark.feed import feed as feed
from streamiter.spark.java import ensure_java as ensure_java
from streamiter.spark.latest import latest_per_key as latest_per_key
from streamiter.spark.register import register as register
from streamiter.spark.variant import as_variant as as_variant
