"""Delta: change data capture into a Delta table, for `foreachBatch`: each micro-batch exactly once, without jars."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from streamiter.errors import InvalidOption, MissingExtra
from streamiter.spark.columns.delta_columns import check_columns_hold, check_keys
from streamiter.spark.latest import canonical_keys, check_columns, is_text, latest_per_key

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_TRIES = 5  # where other writers of the table come between
_QUERY_ID = "sql.streaming.queryId"


def merge_delta(
    path: str | os.PathLike[str],
    by: Sequence[str] = ("keys",),
    *,
    app_id: str | None = None,
    storage_options: Mapping[str, str] | None = None,
) -> Callable[[DataFrame, int], None]:
    """A function for `foreachBatch` that keeps a Delta table as the source table is: upserts, and deletes what was removed.

    The table has the DataFrame's columns, of each row's last change; `by` names those that tell rows apart. `event_name` and
    `order_key` must be among them. With each merge the table's log notes the query's id and the batch, so that a batch that
    comes again changes nothing. `app_id` goes before the query's id, and stands for it where there is none (outside of
    `foreachBatch`, or on Spark Connect): there it must change with the checkpoint, since batches count from 0 anew in
    another one. Columns that the table lacks are added; where one of its own does not hold what comes as it is, the merge
    raises.
    """
    if find_spec("deltalake") is None:  # said now, before a query runs
        raise MissingExtra("deltalake", "spark")
    if isinstance(by, str) or not by:
        raise InvalidOption("by= takes a list of column names")
    place = os.fspath(path)

    def merge(batch: DataFrame, batch_id: int) -> None:
        check_columns(batch, [*by, "event_name", "order_key"], "merge_delta")
        transaction = _transaction(batch, app_id)
        options = None if storage_options is None else dict(storage_options)
        if _is_done(place, options, transaction, batch_id):
            return
        last = latest_per_key(batch, by)
        if "keys" in by and is_text(batch, "keys"):
            last = last.withColumn("keys", canonical_keys(last["keys"]))
        _merge(place, options, _in_utc(last.toArrow()), list(by), transaction, batch_id)

    return merge


def _transaction(batch: DataFrame, app_id: str | None) -> str:
    """The name under which the table's log counts batches: the query's id, which a checkpoint keeps over restarts."""
    names = [name for name in (app_id, _query_id(batch)) if name]
    if not names:
        raise InvalidOption("merge_delta finds the query's id in foreachBatch alone; elsewhere name one: app_id='...'")
    return " ".join(names)


def _query_id(batch: DataFrame) -> str | None:
    try:
        found: str | None = batch.sparkSession.sparkContext.getLocalProperty(_QUERY_ID)
    except Exception:  # Spark Connect has no context
        return None
    return found


def _is_done(path: str, options: dict[str, str] | None, app_id: str, batch_id: int) -> bool:
    """Whether the table's log has this batch already."""
    from deltalake import DeltaTable

    if not DeltaTable.is_deltatable(path, options):
        return False
    version = DeltaTable(path, storage_options=options).transaction_version(app_id)
    return version is not None and version >= batch_id


def _merge(
    path: str, options: dict[str, str] | None, rows: pa.Table, by: list[str], app_id: str, batch_id: int
) -> None:
    from deltalake import CommitProperties, DeltaTable, Transaction
    from deltalake.exceptions import CommitFailedError

    if rows.num_rows == 0:
        return
    check_keys(rows, by)
    properties = CommitProperties(app_transactions=[Transaction(app_id, batch_id)])
    for tries_left in reversed(range(_TRIES)):
        DeltaTable.create(path, rows.schema, mode="ignore", storage_options=options)
        if _is_done(path, options, app_id, batch_id):
            return
        table = DeltaTable(path, storage_options=options)
        check_columns_hold(table, rows)
        merger = table.merge(
            rows,
            predicate=" AND ".join(f"source.{_quoted(name)} = target.{_quoted(name)}" for name in by),
            source_alias="source",
            target_alias="target",
            merge_schema=True,
            commit_properties=properties,
        )
        is_removed = "source.event_name = 'REMOVE'"
        is_kept = "source.event_name <> 'REMOVE'"
        try:
            _execute(merger, is_removed, is_kept)
        except CommitFailedError:
            if not tries_left:
                raise
            continue  # Another writer was faster: merge with the table as it is now.
        return


def _execute(merger: Any, is_removed: str, is_kept: str) -> None:
    merger = merger.when_matched_delete(predicate=is_removed).when_matched_update_all(predicate=is_kept)
    merger.when_not_matched_insert_all(predicate=is_kept).execute()


def _in_utc(rows: pa.Table) -> pa.Table:
    """Times in UTC, which is how Delta keeps them; Spark gives them in the session's zone."""
    fields = [
        field.with_type(pa.timestamp("us", tz="UTC")) if pa.types.is_timestamp(field.type) and field.type.tz else field
        for field in rows.schema
    ]
    return rows.cast(pa.schema(fields))


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
