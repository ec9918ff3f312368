"""Data sources: what Spark knows by the name of a format; each has its source from the table of formats."""

from __future__ import annotations

from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader
from pyspark.sql.types import StructType

from streamiter.spark.batch import BatchReader
from streamiter.spark.columns import Columns, standard_schema
from streamiter.spark.faults import told_plainly
from streamiter.spark.formats import FORMATS, make_source, record_type
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
        return standard_schema(record_type(make_source(self._parsed())))

    @told_plainly()
    def reader(self, schema: StructType) -> DataSourceReader:
        """For `spark.read`."""
        return BatchReader(self._checked(schema), schema)

    @told_plainly()
    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        """For `spark.readStream`."""
        return StreamReader(self._checked(schema), schema)

    def _checked(self, schema: StructType) -> Options:
        """The options; what no column can be is told before anything is read."""
        options = self._parsed()
        Columns(schema, record_type(make_source(options)))
        return options

    def _parsed(self) -> Options:
        kind = FORMATS[self.format_name]
        return parse_options(self.format_name, kind.subjects, self.options, kind.extras)


class DynamoDBStreamsFormat(ChangeStream):
    """`dynamodb_streams`."""

    format_name = "dynamodb_streams"


class KinesisStreamsFormat(ChangeStream):
    """`kinesis_streams`."""

    format_name = "kinesis_streams"


DATA_SOURCES: tuple[type[ChangeStream], ...] = (DynamoDBStreamsFormat, KinesisStreamsFormat)
