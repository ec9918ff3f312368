"""Columns: a record as Spark sees it, in the standard columns or in typed ones of a user's schema."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import StructField, StructType

from streamiter.errors import InvalidOption, ValueMisfit
from streamiter.record import ChangeRecord, Record
from streamiter.spark.columns.values import Misfit, converter, member
from streamiter.stream.table import records_to_table

IMAGES = ("keys", "new_image", "old_image")
_KEY_WIDTH = 20  # an order key begins with its order time, in so many digits
_MISSING = "it is missing, and the column may not be null"
_decode = msgspec.json.Decoder().decode


def standard_schema(kind: type[Record] = ChangeRecord) -> StructType:
    """The columns of records of this kind, without a schema of the user's."""
    schema: StructType = from_arrow_schema(records_to_table([], "", kind).schema)
    return schema


class Columns:
    """Turns tables of the standard columns into what a schema asks for. Columns are found by name, never by place."""

    def __init__(self, schema: StructType, kind: type[Record] = ChangeRecord) -> None:
        self._arrow = to_arrow_schema(schema, timezone="UTC")
        standard = {field.name: field for field in standard_schema(kind).fields}
        self._columns = [_column(field, standard) for field in schema.fields]
        names = [field.name for field in schema.fields]
        if len(set(names)) < len(names):
            raise InvalidOption("a schema names each column once")

    def batches(self, table: pa.Table) -> Iterator[pa.RecordBatch]:
        """The table's rows, as Spark wants them."""
        if table.num_rows == 0:
            return
        wanted = {column.image for column in self._columns if column.image is not None}
        images = {image: _images(table, image) for image in wanted}
        arrays = [
            self._standard(column, table) if column.image is None else self._typed(column, images[column.image], table)
            for column in self._columns
        ]
        yield from pa.Table.from_arrays(arrays, schema=self._arrow).to_batches()

    def _standard(self, column: _Column, table: pa.Table) -> pa.ChunkedArray:
        found = table.column(column.name)
        if found.null_count and not column.is_nullable:
            index = found.to_pylist().index(None)
            raise _misfit(Misfit(column.name, _MISSING), table, index)
        return found

    def _typed(self, column: _Column, images: Sequence[Any], table: pa.Table) -> pa.Array:
        assert column.convert is not None
        values = []
        for index, image in enumerate(images):
            try:
                value = column.convert(image)
                if value is None and not column.is_nullable:
                    raise Misfit(column.name, _MISSING)
            except Misfit as misfit:
                raise _misfit(misfit, table, index) from None
            values.append(value)
        return pa.array(values, self._arrow.field(column.name).type)


class _Column(NamedTuple):
    name: str
    image: str | None  # of which image it is made; "row": the newest one that there is; None: it is a standard column
    convert: Callable[[Any], Any] | None = None
    is_nullable: bool = True


def _misfit(misfit: Misfit, table: pa.Table, index: int) -> ValueMisfit:
    """The error of a value that does not fit its column, with the record that it comes from."""
    shard, number = (table.column(name)[index].as_py() for name in ("shard_id", "sequence_number"))
    return ValueMisfit(misfit.where, shard, number, misfit.what)


def _column(field: StructField, standard: dict[str, StructField]) -> _Column:
    known = standard.get(field.name)
    if known is not None and field.dataType == known.dataType:
        return _Column(field.name, None, is_nullable=field.nullable)
    if field.name in IMAGES and isinstance(field.dataType, StructType):
        return _Column(field.name, field.name, _of_struct(field.name, field.dataType), field.nullable)
    if known is not None:
        also = ", or a struct of attributes" if field.name in IMAGES else ""
        raise InvalidOption(
            f"column {field.name} is {known.dataType.simpleString()}{also}, not {field.dataType.simpleString()}; "
            f"an attribute of that name is had as a member of new_image"
        )
    if "new_image" not in standard:
        raise InvalidOption(f"these records have no column {field.name}; they have {', '.join(standard)}")
    return _Column(field.name, "row", _of_attribute(field))


def _of_attribute(field: StructField) -> Callable[[Any], Any]:
    convert = member(field, field.name)
    return lambda image: convert(None if image is None else image.get(field.name), field.name)


def _of_struct(name: str, kind: StructType) -> Callable[[Any], Any]:
    convert = converter(kind, name)
    return lambda image: None if image is None else convert({"M": image}, name)


def _images(table: pa.Table, image: str) -> list[Any]:
    """The images of a column, decoded; of "row", the new one, else the old one, else the keys."""
    if image != "row":
        return [None if text is None else _decode(text) for text in table.column(image).to_pylist()]
    new, old, keys = (table.column(name).to_pylist() for name in ("new_image", "old_image", "keys"))
    texts = (first or second or third for first, second, third in zip(new, old, keys, strict=True))
    return [None if text is None else _decode(text) for text in texts]


def raise_floor(table: pa.Table, floor_us: int) -> pa.Table:
    """The rows with order times that are never below this one; their keys say so."""
    keys = table.column("order_key")
    least = f"{floor_us:0{_KEY_WIDTH}d}"
    raised = pc.binary_join_element_wise(least, pc.utf8_slice_codeunits(keys, _KEY_WIDTH), "")
    is_below = pc.less(pc.utf8_slice_codeunits(keys, 0, _KEY_WIDTH), least)
    index = table.schema.get_field_index("order_key")
    return table.set_column(index, "order_key", pc.if_else(is_below, raised, keys))


def between(table: pa.Table, since_us: int | None, before_us: int | None) -> pa.Table:
    """The rows from one order time on, and before another."""
    times = pc.utf8_slice_codeunits(table.column("order_key"), 0, _KEY_WIDTH)
    if since_us is not None:
        is_since = pc.greater_equal(times, f"{since_us:0{_KEY_WIDTH}d}")
        table, times = table.filter(is_since), times.filter(is_since)
    if before_us is not None:
        table = table.filter(pc.less(times, f"{before_us:0{_KEY_WIDTH}d}"))
    return table


def first_order_us(table: pa.Table) -> int:
    """The order time of the first row."""
    return int(table.column("order_key")[0].as_py()[:_KEY_WIDTH])
