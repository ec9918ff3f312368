"""The latest: of many changes to a row, the last one."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from streamiter.errors import InvalidOption


def latest_per_key(df: DataFrame, by: Sequence[str] = ("keys",)) -> DataFrame:
    """The last change of each row, by `order_key`; `by` names the columns that tell rows apart."""
    check_columns(df, [*by, "order_key"], "latest_per_key")
    found = {name: df[_quoted(name)] for name in df.columns}
    keys = [canonical_keys(found[name]) if name == "keys" and is_text(df, name) else found[name] for name in by]
    named = [key.alias(f"_{index}") for index, key in enumerate(keys)]
    last = F.max_by(F.struct(*found.values()), found["order_key"]).alias("_last")
    return df.groupBy(*named).agg(last).select("_last.*")


def canonical_keys(keys: Column) -> Column:
    """Keys as text that is the same for the same row: nobody promises in which order the service writes two attributes."""
    entries = F.map_entries(F.from_json(keys, "map<string, struct<S: string, N: string, B: string>>"))
    return F.to_json(F.map_from_entries(F.array_sort(entries)))


def _quoted(name: str) -> str:
    """An attribute's name as Spark takes it for one: a dot in it does not reach into a struct."""
    return "`" + name.replace("`", "``") + "`"


def is_text(df: DataFrame, name: str) -> bool:
    """Whether a column is text."""
    return df.schema[name].dataType.simpleString() == "string"


def check_columns(df: DataFrame, names: Sequence[str], user: str) -> None:
    """Raises where columns are missing."""
    missing = [name for name in names if name not in df.columns]
    if missing:
        raise InvalidOption(f"{user} needs the column{'s' if len(missing) > 1 else ''} {', '.join(missing)}")
