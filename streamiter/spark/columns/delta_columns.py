"""Delta columns: whether a table's columns hold a batch's values unchanged; Delta itself would round and convert them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from streamiter.errors import InvalidOption

if TYPE_CHECKING:
    from deltalake import DeltaTable

_WIDER = {
    "byte": ("short", "integer", "long"),
    "short": ("integer", "long"),
    "integer": ("long",),
    "float": ("double",),
}
_DECIMAL = re.compile(r"decimal\((\d+),\s*(\d+)\)")


def check_keys(rows: pa.Table, by: Sequence[str]) -> None:
    """Raises where a column that tells rows apart holds null: whether two rows with null are the same cannot be known."""
    for name in by:
        nulls = rows.column(name).null_count
        if nulls:
            raise InvalidOption(
                f"by=: column {name} is null in {nulls} of {rows.num_rows} rows, so it does not tell them apart; name the "
                "attributes of the table's key, as they are written there"
            )


def check_columns_hold(table: DeltaTable, rows: pa.Table) -> None:
    """Raises where a column of the table has another type than the batch's, and does not hold all of that type's values."""
    from deltalake import Schema

    known = {field.name: field.type for field in table.schema().fields}
    for field in Schema.from_arrow(rows.schema).fields:
        held = known.get(field.name)
        if held is not None and held != field.type and not _holds(_name(held), _name(field.type)):
            raise InvalidOption(
                f"column {field.name} is {_name(held)} in the table, and {_name(field.type)} in the batch: its values "
                "would be changed; keep the column's type, or merge into another table"
            )


def _name(kind: Any) -> str:
    """A type as Delta writes it."""
    return str(getattr(kind, "type", kind))


def _holds(wide: str, narrow: str) -> bool:
    """Whether each value of a type is one of another."""
    decimals = _DECIMAL.fullmatch(wide), _DECIMAL.fullmatch(narrow)
    if decimals[0] is not None and decimals[1] is not None:
        (digits, scale), (own_digits, own_scale) = (map(int, decimal.groups()) for decimal in decimals if decimal)
        return scale >= own_scale and digits - scale >= own_digits - own_scale
    return wide in _WIDER.get(narrow, ())
