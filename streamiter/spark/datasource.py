"""Data sources: what Spark knows by the name of a format; each has its source from the table of formats."""

from __future__ import annotations

from dataclasses import replace
from typing import Self

from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader
from pyspark.sql.types import StructType

from streamiter.spark.batch import BatchReader
from streamiter.spark.columns.columns import Columns, standard_schema
from streamiter.spark.formats import FORMATS, make_source
from streamiter.spark.machine.told_plainly import told_plainly
from streamiter.spark.options import Options, parse_options
from streamiter.spark.streaming import StreamReader


class ChangeStream(DataSource):
    """A change stream as a data source."""

    format_name = ""
    slots: int | None = None  # how many tasks the session runs at once; None: not known

    @classmethod
    def with_slots(cls, slots: int | None) -> type[Self]:
        """The same format, for a session that runs so many tasks at once.

        Options are all that Spark hands to a data source, and users write those. So the number is part of the class, which
        Spark pickles whole, because no module has it under its name.
        """
        return type(cls.__name__, (cls,), {"__doc__": cls.__doc__, "__module__": cls.__module__, "slots": slots})

    @classmethod
    def name(cls) -> str:
        """What `.format(...)` takes."""
        return cls.format_name

    @told_plainly()
    def schema(self) -> StructType:
        """The columns, unless the user brings a schema."""
        return standard_schema(make_source(self._parsed()).record_type)

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
        Columns(schema, make_source(options).record_type)
        return options

    def _parsed(self) -> Options:
        kind = FORMATS[self.format_name]
        return replace(parse_options(self.format_name, kind.subjects, self.options, kind.extras), slots=self.slots)


class DynamoDBStreamsFormat(ChangeStream):
    """`dynamodb_streams`."""

    format_name = "dynamodb_streams"


class KinesisStreamsFormat(ChangeStream):
    """`kinesis_streams`."""

    format_name = "kinesis_streams"


class UrlFormat(ChangeStream):
    """`streamiter`: whatever has a URL, logs among them."""

    format_name = "streamiter"


DATA_SOURCES: tuple[type[ChangeStream], ...] = (DynamoDBStreamsFormat, KinesisStreamsFormat, UrlFormat)
