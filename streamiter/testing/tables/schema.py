"""Schemas: what names an item, in its table and in its indexes, and whether a request has that whole and of the right types."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from streamiter.testing.expressions.values import Item, Value, kind_of
from streamiter.testing.http.refusal import Refusal, invalid, wrong_value

_KINDS = {"S": "string", "B": "binary"}
MOST_HASH_BYTES = 2048
MOST_RANGE_BYTES = 1024
NO_MATCH = "The provided key element does not match the schema"


@dataclass
class Index:
    """A secondary index: its key, what it projects, and what else its description says."""

    name: str
    keys: tuple[str, ...]
    is_global: bool
    projection: dict[str, Any]
    kinds: tuple[str, ...]  # the types of its keys
    more: dict[str, Any] = field(default_factory=dict)
    hashes: int = 1  # how many of its keys make up the partition key

    @property
    def partition_keys(self) -> tuple[str, ...]:
        """The attributes that say together which partition an item is in."""
        return self.keys[: self.hashes]

    @property
    def has_all(self) -> bool:
        return bool(self.projection["ProjectionType"] == "ALL")

    def has(self, item: Mapping[str, Value]) -> bool:
        """Whether an item is in it: one that was there before the index may have its key of another type."""
        return all(name in item and kind in item[name] for name, kind in zip(self.keys, self.kinds, strict=True))

    def projected(self, item: Item, own: tuple[str, ...]) -> Item:
        """The part of an item that it holds; `own` is the table's key."""
        if self.has_all:
            return item
        names = self.attributes(own)
        return {name: value for name, value in item.items() if name in names}

    def attributes(self, own: tuple[str, ...]) -> set[str]:
        """The attributes that it holds, where those are not all."""
        return {*own, *self.keys, *self.projection.get("NonKeyAttributes", ())}


@dataclass
class Schema:
    """A table's keys and their types, and its indexes by name."""

    keys: tuple[str, ...]
    kinds: dict[str, str]
    indexes: dict[str, Index] = field(default_factory=dict)

    @property
    def has_collections(self) -> bool:
        """Whether there are local indexes, which is what item collections are measured for."""
        return any(not index.is_global for index in self.indexes.values())

    def index(self, name: str) -> Index:
        """The index of this name."""
        if name not in self.indexes:
            raise invalid(f"The table does not have the specified index: {name}")
        return self.indexes[name]

    def forget_unused(self) -> None:
        """Drops the types of attributes that neither the table nor an index has in its key (any more)."""
        used = {*self.keys, *(name for index in self.indexes.values() for name in index.keys)}
        for name in self.kinds.keys() - used:
            del self.kinds[name]

    def key_of(self, item: Item) -> Item:
        """The key of an item."""
        return {name: item[name] for name in self.keys}

    def check_item(self, item: Item) -> None:
        """Refuses an item that cannot be this table's."""
        for name in self.keys:
            expected = self.kinds[name]
            if name not in item:
                raise wrong_value(f"Missing the key {name} in the item")
            if expected not in item[name]:
                raise wrong_value(f"Type mismatch for key {name} expected: {expected} actual: {kind_of(item[name])}")
            if _is_empty(item[name]):
                raise _empty(expected, f"Key: {name}")
        self._check_sizes(item)
        for index, name, value in self._index_keys(item):
            expected = self.kinds[name]
            if expected not in value:
                raise wrong_value(
                    f"Type mismatch for Index Key {name} Expected: {expected} Actual: {kind_of(value)} "
                    f"IndexName: {index.name}"
                )
            if _is_empty(value):
                raise _empty(expected, f"IndexName: {index.name}, IndexKey: {name}")
            if _length(value) > (MOST_HASH_BYTES if name in index.partition_keys else MOST_RANGE_BYTES):
                raise _too_long(is_hash=name in index.partition_keys)

    def check_updated(self, item: Item) -> None:
        """Refuses an update that leaves an index without a key of the right type."""
        for index, name, value in self._index_keys(item):
            if self.kinds[name] not in value:
                raise invalid("The update expression attempted to update the secondary index key to unsupported type")
            if _length(value) > (MOST_HASH_BYTES if name in index.partition_keys else MOST_RANGE_BYTES):
                raise invalid(
                    "The update expression attempted to update the secondary index key beyond allowed size limits"
                )
            if _is_empty(value):
                raise invalid(
                    "The update expression attempted to update a secondary index key to a value that is not supported. "
                    f"The AttributeValue for a key attribute cannot contain an empty {_KINDS[self.kinds[name]]} value."
                )

    def check_key(self, key: Item) -> None:
        """Refuses a key that is not this table's."""
        if key.keys() != set(self.keys) or any(self.kinds[name] not in key[name] for name in self.keys):
            raise invalid(NO_MATCH)
        for name in self.keys:
            if _is_empty(key[name]):
                raise _empty(self.kinds[name], f"Key: {name}")
        self._check_sizes(key)

    def _index_keys(self, item: Item) -> Iterator[tuple[Index, str, Value]]:
        for index in self.indexes.values():
            for name in index.keys:
                if name in item and name not in self.keys:
                    yield index, name, item[name]

    def _check_sizes(self, item: Item) -> None:
        if _length(item[self.keys[0]]) > MOST_HASH_BYTES:
            raise _too_long(is_hash=True)
        if len(self.keys) > 1 and _length(item[self.keys[1]]) > MOST_RANGE_BYTES:
            raise _too_long(is_hash=False)


def _is_empty(value: Value) -> bool:
    return next(iter(value.values())) in ("", b"")


def _length(value: Value) -> int:
    [inner] = value.values()
    return len(inner.encode() if isinstance(inner, str) else inner)


def _too_long(*, is_hash: bool) -> Refusal:
    if is_hash:  # in the service's own words, with no space before the number
        return wrong_value(f"Size of hashkey has exceeded the maximum size limit of{MOST_HASH_BYTES} bytes")
    return wrong_value(f"Aggregated size of all range keys has exceeded the size limit of {MOST_RANGE_BYTES} bytes")


def _empty(kind: str, where: str) -> Refusal:
    return invalid(
        "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty "
        f"{_KINDS.get(kind, 'number')} value. {where}"
    )
