"""Columns: what a schema asks for, from the standard ones; what may not be null there never is."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyspark.sql import types as T

from streamiter import ChangeRecord
from streamiter.errors import ValueMisfit
from streamiter.spark.columns.columns import Columns
from streamiter.stream.table import records_to_table

REMOVED = {"shard_id": "S0", "sequence_number": "7", "keys": '{"id":{"S":"a"}}', "old_image": '{"id":{"S":"a"}}'}


def rows(*told: dict) -> pa.Table:
    return pa.Table.from_pylist(list(told), schema=records_to_table([], "", ChangeRecord).schema)


@pytest.mark.parametrize("kind", [T.StringType(), T.StructType([T.StructField("id", T.StringType())])])
def test_an_image_that_is_missing_fits_where_it_may_be_null_alone(kind):
    table = rows({**REMOVED, "new_image": '{"id":{"S":"a"}}'}, REMOVED)
    [batch] = Columns(T.StructType([T.StructField("new_image", kind)])).batches(table)
    assert [value is None for value in batch.column("new_image").to_pylist()] == [False, True]
    columns = Columns(T.StructType([T.StructField("new_image", kind, nullable=False)]))
    with pytest.raises(ValueMisfit, match="attribute new_image of record 7 of shard S0 .* may not be null"):
        list(columns.batches(table))
