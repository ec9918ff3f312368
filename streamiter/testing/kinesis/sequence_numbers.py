"""Sequence numbers: what Kinesis puts into them, so that a number tells its shard and when that was made.

A number of version 2, the current one, is in hexadecimal digits: 2, the second in which the shard was made (9), the last
digit of the shard's number (1), the record's serial (16), two zeros, the second of the record (9), the shard's number (8)
and the version. Users took that apart long ago; Kinesalite wrote it down, and which refusals follow from it.
"""

from __future__ import annotations

from typing import NamedTuple

GREATEST_SERIAL = (1 << 63) - 1  # that of the number with which a shard ends

_OLDEST, _OLDEST_END = 1 << 124, 1 << 129  # numbers of version 0
_FIRST, _END = 1 << 185, 3 << 184  # all others
_LAST_SECOND = 16_025_175_000
_MANY = (1 << 31) - 1  # shards


class SequenceNumber(NamedTuple):
    """What a number says."""

    made_seconds: int  # when its shard was made
    serial: int  # of the record, among those of its shard
    seconds: int
    shard: int
    version: int = 2

    def __int__(self) -> int:
        """The number, of version 2."""
        number = 2 << 36 | self.made_seconds
        number = (number << 4 | self.shard & 15) << 64 | self.serial
        number = number << 44 | self.seconds
        return (number << 32 | self.shard) << 4 | 2


def parse(number: int) -> SequenceNumber | None:
    """What a number says; None where it is none."""
    if number < _OLDEST:
        number += _OLDEST
    if number < _OLDEST_END:
        made = number >> 88 & (1 << 36) - 1
        return SequenceNumber(made, 0, 0, number & 0xFFFF, 0) if made < _LAST_SECOND else None
    version = number & 15
    if not _FIRST < number < _END or version not in (1, 2):
        return None
    made, shard = number >> 148 & (1 << 36) - 1, number >> 4 & (1 << 32) - 1
    if version == 1:
        return SequenceNumber(made, number >> 36 & 0xFF, number >> 100 & (1 << 36) - 1, shard, 1)
    serial = number >> 80 & (1 << 64) - 1
    if serial > GREATEST_SERIAL or shard > _MANY:
        return None
    return SequenceNumber(made, serial, number >> 36 & (1 << 36) - 1, shard)


def spelled(number: int) -> int:
    """The number as the service quotes it: short ones are of version 0, whose first digit is a 1."""
    return number + _OLDEST if number < _OLDEST else number
