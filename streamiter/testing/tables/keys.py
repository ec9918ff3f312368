"""Keys: what names an item, in its table and in the indexes, and whether a request has that whole and of the right types."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from streamiter.testing.http.refusal import Refusal, invalid, wrong_value

_KINDS = {"S": "string", "B": "binary"}


class TableKeys(NamedTuple):
    """The types of the attributes that keys are made of: the table's own, and those of its indexes, by name."""

    own: Mapping[str, str]
    indexes: Mapping[str, Mapping[str, str]]

    def check(self, request: Mapping[str, Any]) -> None:
        """Refuses a request for one item, which has a Key or an Item, when that cannot be this table's."""
        if "Item" in request:
            self._check_item(request["Item"])
        elif "Key" in request:
            self._check_key(request["Key"])

    def _check_item(self, item: Mapping[str, Any]) -> None:
        for name, expected in self.own.items():
            if name not in item:
                raise wrong_value(f"Missing the key {name} in the item")
            if expected not in item[name]:
                raise wrong_value(f"Type mismatch for key {name} expected: {expected} actual: {_type(item[name])}")
            if _is_empty(item[name]):
                raise _empty(expected, f"Key: {name}")
        for index, keys in self.indexes.items():
            for name, expected in keys.items():
                if name in item and expected not in item[name]:
                    raise wrong_value(
                        f"Type mismatch for Index Key {name} Expected: {expected} Actual: {_type(item[name])} "
                        f"IndexName: {index}"
                    )
                if name in item and _is_empty(item[name]):
                    raise _empty(expected, f"IndexName: {index}, IndexKey: {name}")

    def _check_key(self, key: Mapping[str, Any]) -> None:
        if key.keys() != self.own.keys() or any(kind not in key[name] for name, kind in self.own.items()):
            raise invalid("The provided key element does not match the schema")
        for name, kind in self.own.items():
            if _is_empty(key[name]):
                raise _empty(kind, f"Key: {name}")


def _type(value: Mapping[str, Any]) -> str:
    return next(iter(value))


def _is_empty(value: Mapping[str, Any]) -> bool:
    return next(iter(value.values())) in ("", b"")


def _empty(kind: str, where: str) -> Refusal:
    return invalid(
        "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty "
        f"{_KINDS.get(kind, 'number')} value. {where}"
    )
