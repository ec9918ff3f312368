"""Rendering: records as GetRecords' JSON: their images are JSON already, and what stands around those is the same for many."""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from streamiter.clock import SECOND_US

if TYPE_CHECKING:
    from streamiter.testing.truth.records import WrittenRecord

RENDERED_BYTES = 4 * 1024 * 1024

# A record has its number, counted from the first one, and its size as one integer.
FIRST_NUMBER = 100_000_000_000_000_000_000_000  # 24 digits, as the service's mostly are
SIZE_BITS = 30
MOST_SIZE = (1 << SIZE_BITS) - 1

_encode = msgspec.json.Encoder().encode


class Frame(NamedTuple):
    """What stands around the members that are each record's own; and which images a stream of its view type tells of."""

    start: bytes
    view: bytes
    serial: bytes  # of the table: how the events' ids begin
    end: bytes
    has_new: bool
    has_old: bool


def frame_of(region: str, view: str, event: str, serial: int, user_identity: dict[str, str] | None) -> Frame:
    """The frame of many records."""
    identity = b"" if user_identity is None else b',"userIdentity":%b' % _encode(user_identity)
    return Frame(
        start=b'{"awsRegion":"%b","dynamodb":{' % region.encode(),
        view=b',"StreamViewType":"%b"},"eventID":"' % view.encode(),
        serial=b"%08x" % serial,
        end=b'","eventName":"%b","eventSource":"aws:dynamodb","eventVersion":"1.1"%b}' % (event.encode(), identity),
        has_new=view in ("NEW_IMAGE", "NEW_AND_OLD_IMAGES"),
        has_old=view in ("OLD_IMAGE", "NEW_AND_OLD_IMAGES"),
    )


def rendered(records: Sequence[WrittenRecord]) -> list[bytes]:
    """The records as JSON. A page's thousand are made in one go, and members are read where they lie: to call a function or a
    property for each record takes as long as all the rest."""
    bodies = []
    origin = created_us = None
    has_new = has_old = False
    for record in records:
        if record.rendered is not None:
            bodies.append(record.rendered)
            continue
        if record.origin is not origin or record.created_us is not created_us:  # those of one second share it
            origin, created_us = record.origin, record.created_us
            has_new, has_old = origin.frame.has_new, origin.frame.has_old
            plain, with_new, with_old, with_both = _templates(origin.frame, created_us)
        packed = record.number_and_size
        number = event = b"%021d" % (FIRST_NUMBER + (packed >> SIZE_BITS))
        if record.is_spelled:
            event = _spelled_event(record)
        key, size = record.key_json, packed & MOST_SIZE
        new = record.new_json if has_new else None
        old = record.old_json if has_old else None
        if old is None:
            bodies.append(
                plain % (key, number, size, event) if new is None else with_new % (key, new, number, size, event)
            )
        elif new is None:
            bodies.append(with_old % (key, old, number, size, event))
        else:
            bodies.append(with_both % (key, new, old, number, size, event))
    return bodies


@functools.lru_cache(maxsize=256)
def _templates(frame: Frame, created_us: int | None) -> list[bytes]:
    """What a frame's records of one moment are filled into: without images, with the new one, with the old one, with both."""
    start, view, serial, end = (part.replace(b"%", b"%%") for part in frame[:4])
    created = b"" if created_us is None else b'"ApproximateCreationDateTime":%b,' % seconds_json(created_us)
    new, old = b',"NewImage":%b', b',"OldImage":%b'
    return [
        b'%b%b"Keys":%%b%b,"SequenceNumber":"%%b","SizeBytes":%%d%b%b%%b%b'
        % (start, created, images, view, serial, end)
        for images in (b"", new, old, new + old)
    ]


class Rendered:
    """The records whose JSON is at hand: those written of late, for those who follow the stream ask for them soon."""

    def __init__(self, most_bytes: int = RENDERED_BYTES) -> None:
        self._most_bytes = most_bytes
        self._bytes = 0
        self._records: deque[WrittenRecord] = deque()

    def note(self, record: WrittenRecord) -> None:
        """A record's JSON is made, and kept until there is that much of newer ones."""
        [record.rendered] = rendered((record,))
        self._records.append(record)
        self._bytes += len(record.rendered)
        while self._bytes > self._most_bytes and len(self._records) > 1:
            oldest = self._records.popleft()
            self._bytes -= len(oldest.rendered or b"")
            oldest.rendered = None


def seconds_json(time_us: int) -> bytes:
    """A moment as the service writes it, exactly: 1.75E9, not 1750000000."""
    if time_us < SECOND_US:
        return _encode(time_us / SECOND_US)
    digits = str(time_us)
    return f"{digits[0]}.{digits[1:].rstrip('0') or '0'}E{len(digits) - 7}".encode()


def _spelled_event(record: WrittenRecord) -> bytes:
    """What the id of an event ends with whose record a test spelled out: its number may be another record's, too, but its place
    is not, and no number begins with f. No two records have the same id."""
    assert record.spelled is not None
    place = record.spelled.place
    return b"%024d" % record.number if place is None else b"f%023x" % place
