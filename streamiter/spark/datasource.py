"""Data sources: what Spark knows by the name of a format; each has its source from the table of formats."""

from __future__ import annotations

from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader
from pyspark.sql.types import StructType

from streamiter.spark.batch import BatchReader
from streamiter.spark.columns import Columns, standard_schema
from streamiter.spark.faults import told_plainly
from streamiter.spark.formats import FORMATS
from streamiter.spark.options import Options, parse_options
from streamiter.spark.streaming import StreamReader


class ChangeStream(DataSource):
    """A change stream as a data source."""

    format_name = ""

    @classmethod
    def name(cls) -> str:
        """What `.format(...)` takes."""
        return cls.format_name

    @told_plainly()
    def schema(self) -> StructType:
        """The columns, unless the user brings a schema."""
        self._parsed()
        return standard_schema()

    @told_plainly()
    def reader(self, schema: StructType) -> DataSourceReader:
        """For `spark.read`."""
        Columns(schema)  # What no attribute can become is told before anything is read.
        return BatchReader(self._parsed(), schema)

    @told_plainly()
    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        """For `spark.readStream`."""
        return StreamReader(self._parsed(), schema)

    def _parsed(self) -> Options:
        return parse_options(self.format_name, FORMATS[self.format_name].subjects, self.options)


class DynamoDBStreamsFormat(ChangeStream):
    """`dynamodb_streams`."""

    format_name = "dynamodb_streams"


DATA_SOURCES: tuple[type[ChangeStream], ...] = (DynamoDBStreamsFormat,)
