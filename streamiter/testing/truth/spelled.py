"""Spelled out: what a test says of a record, as the truth keeps it."""

from __future__ import annotations

import math
from types import EllipsisType
from typing import NamedTuple

import msgspec

from streamiter.clock import SECOND_US, floor_second
from streamiter.testing.truth.images import Image, TypedImage, typed_image
from streamiter.testing.truth.records import EventName, PackedImages

_encode = msgspec.json.Encoder().encode

NUMBER_BASE = 10**20  # the smallest sequence number: 21 digits


class Spelled(NamedTuple):
    """A change of an item that a test spelled out, as typed images."""

    key: TypedImage
    old: TypedImage | None
    new: TypedImage | None
    event: EventName

    @property
    def packed(self) -> PackedImages:
        """The images as records hold them."""
        new, old = (None if image is None else _encode(image) for image in (self.new, self.old))
        return PackedImages(_encode(self.key), new, old)


def spelled_image(image: Image | None, is_typed: bool) -> TypedImage | None:
    """An image of plain values, or of DynamoDB's JSON already."""
    return None if image is None else dict(image) if is_typed else typed_image(image)


def spelled_number(number: int | str) -> int:
    """A sequence number; short ones stand for those that long ones begin with."""
    text = number if isinstance(number, str) else str(number if number >= NUMBER_BASE else NUMBER_BASE + number)
    if not (text.isascii() and text.isdecimal() and 21 <= len(text) <= 40):
        raise ValueError(f"a sequence number has 21 to 40 digits, not {text!r}")
    if len(text) > 21 and text[0] == "0":
        raise ValueError(f"a sequence number of more than 21 digits begins with none of 0, not as {text!r} does")
    return int(text)


def spelled_time_us(created: float | EllipsisType | None, now_us: int) -> int | None:
    """A creation time: given, or left out of the record, or (`...`) as the service would say it now."""
    if isinstance(created, EllipsisType):
        return floor_second(now_us)
    return None if created is None else math.floor(created * SECOND_US + 0.5)
