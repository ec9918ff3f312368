"""Items: those of one table, as compact JSON by key, in the service's order once a caller looks through them."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
from sortedcontainers import SortedKeyList, SortedList

from streamiter.testing.expressions.values import Item
from streamiter.testing.tables.places import place_of
from streamiter.testing.tables.schema import Index, Schema
from streamiter.testing.truth.images import size_of

_encoder = msgspec.json.Encoder()
_decode = msgspec.json.decode
_WIDTH = 4  # bytes that say how long the item's own place is, at the end of one in an index


class Items:
    """The bytes of an item are shared with the records that tell of it: a million of them is what memory goes for.

    The order is made when it is first asked for, and kept from then on; so is that of each index.
    """

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._packed: dict[bytes, bytes] = {}
        self._order: SortedKeyList[bytes, bytes] | None = None  # keys, by their places
        self._indexes: dict[str, SortedList[bytes]] = {}
        self._totals: dict[str, list[int]] = {name: [0, 0] for name in schema.indexes}  # items and bytes of each index
        self.bytes = 0  # of all items, as the service counts them

    def __len__(self) -> int:
        return len(self._packed)

    def __iter__(self) -> Iterator[Item]:
        return map(unpacked, list(self._packed.values()))

    def stored(self, key: bytes) -> bytes | None:
        """The bytes of the item of a packed key."""
        return self._packed.get(key)

    def by_key(self) -> Iterator[tuple[bytes, bytes]]:
        """The bytes of all items, by the bytes of their keys."""
        return iter(self._packed.items())

    def load(self, stored: Iterable[bytes]) -> None:
        """Items as another table stored them: this one is new."""
        for item in map(unpacked, stored):
            self.put(self.packed_key(item), item, None)

    def get(self, key: Item) -> Item | None:
        """The item of a key."""
        return self.at(self.packed_key(key))

    def at(self, key: bytes) -> Item | None:
        """The item of a packed key."""
        found = self._packed.get(key)
        return None if found is None else unpacked(found)

    def packed_key(self, item: Item) -> bytes:
        """The key of an item, or a key, as the bytes that it is held by."""
        return packed({name: item[name] for name in self._schema.keys})

    def put(self, key: bytes, item: Item, old: Item | None) -> bytes:
        """Stores an item in the place of an old one, and gives its bytes."""
        if old is not None:
            self._forget(old)
        elif self._order is not None:
            self._order.add(key)
        self._packed[key] = stored = packed(item)
        self.bytes += size_of(item)
        for name, index in self._schema.indexes.items():
            if index.has(item):
                self._total(index, item, 1)
                if name in self._indexes:
                    self._indexes[name].add(self.place(index, item))
        return stored

    def delete(self, key: bytes, old: Item) -> None:
        """Drops an item."""
        self._forget(old)
        del self._packed[key]
        if self._order is not None:
            self._order.remove(key)

    def _forget(self, old: Item) -> None:
        self.bytes -= size_of(old)
        for name, index in self._schema.indexes.items():
            if index.has(old):
                self._total(index, old, -1)
                if name in self._indexes:
                    self._indexes[name].remove(self.place(index, old))

    def _total(self, index: Index, item: Item, sign: int) -> None:
        total = self._totals[index.name]
        total[0] += sign
        total[1] += sign * size_of(index.projected(item, self._schema.keys))

    # -- in order

    def walk(
        self, index: Index | None, low: bytes, high: bytes, *, backwards: bool = False, after: bytes | None = None
    ) -> Iterator[Item]:
        """Items from a place up to before another one, in the order of the table or of an index; `after` is left out."""
        order = self._ordered()
        begin, end = low, high
        if after is not None and backwards:
            end = min(high, after)
        elif after is not None:
            begin = max(low, after)
        if begin > end:
            return
        bounds = (begin != after, False)
        if index is None:
            keys = order.irange_key(begin, end, bounds, reverse=backwards)
        else:
            entries = self._indexed(index).irange(begin, end, bounds, reverse=backwards)
            keys = (next(order.irange_key(own, own)) for own in map(_own_place, entries))
        for key in keys:
            yield unpacked(self._packed[key])

    def place(self, index: Index | None, key: Item) -> bytes:
        """Where an item is, in the order of the table or of an index."""
        own = self._place(key)
        return own if index is None else _with_own(place_of([key[name] for name in index.keys], index.hashes), own)

    def count(self, index: Index) -> tuple[int, int]:
        """How many items an index has, and their bytes."""
        count, size = self._totals[index.name]
        return count, size

    def add_index(self, index: Index) -> None:
        """An index is new: what is there already goes into it, where its key is of the right type."""
        self._totals[index.name] = [0, 0]
        for item in self:
            if index.has(item):
                self._total(index, item, 1)

    def drop_index(self, name: str) -> None:
        """An index is gone."""
        self._totals.pop(name)
        self._indexes.pop(name, None)

    def _ordered(self) -> SortedKeyList[bytes, bytes]:
        if self._order is None:
            self._order = SortedKeyList(self._packed, key=lambda key: self._place(unpacked(key)))
        return self._order

    def _indexed(self, index: Index) -> SortedList[bytes]:
        if index.name not in self._indexes:
            self._indexes[index.name] = SortedList(self.place(index, item) for item in self if index.has(item))
        return self._indexes[index.name]

    def _place(self, item: Item) -> bytes:
        return place_of([item[name] for name in self._schema.keys])


def packed(item: Item) -> bytes:
    """An item as the JSON that records carry, in not a byte more than it needs: what `encode` gives has room to spare."""
    room = bytearray()
    _encoder.encode_into(item, room)
    return bytes(room)


def unpacked(stored: bytes) -> Item:
    """The item that was packed; its binary is bytes again."""
    item: Item = _decode(stored)
    if b'"B' in stored:
        for name, value in item.items():
            item[name] = _with_bytes(value)
    return item


def _with_bytes(value: dict[str, Any]) -> dict[str, Any]:
    [(kind, inner)] = value.items()
    if kind == "B":
        return {kind: b64decode(inner)}
    if kind == "BS":
        return {kind: list(map(b64decode, inner))}
    if kind == "L":
        return {kind: list(map(_with_bytes, inner))}
    if kind == "M":
        return {kind: {name: _with_bytes(part) for name, part in inner.items()}}
    return value


def _with_own(place: bytes, own: bytes) -> bytes:
    return place + own + len(own).to_bytes(_WIDTH)


def _own_place(entry: bytes) -> bytes:
    length = int.from_bytes(entry[-_WIDTH:])
    return entry[-_WIDTH - length : -_WIDTH]
