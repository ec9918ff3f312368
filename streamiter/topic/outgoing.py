"""Outgoing: makes an entry of a value, chooses its partition, and hands it to the writer."""

from __future__ import annotations

import asyncio
import logging
import random
import threading
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Mapping
from typing import Any, NamedTuple

from streamiter.clock import Clock, microseconds
from streamiter.errors import InvalidOption, StreamiterError, ValueMisfit
from streamiter.log import Entry
from streamiter.reading.patience import Patience, retrying
from streamiter.topic.codec import Codec, Encoded, Misfit, shape_of
from streamiter.topic.crew import Crew, Hands
from streamiter.topic.keys import PartitionBy, key_getter
from streamiter.topic.opening import Opening
from streamiter.topic.routing import HASH_BITS, Key, key_hash, readable
from streamiter.topic.sending import Many, awaited, waited
from streamiter.topic.sent import Written
from streamiter.topic.writer import Job, Limits, Sender, Writer, size_of

logger = logging.getLogger("streamiter.topic")

THREADS = 8  # that append to partitions side by side
LOOK_AGAIN_SECONDS = 5.0  # how often we look for partitions that another process added
OPEN_SECONDS = 60.0  # a log that cannot be opened is tried again for so long
OTHERS_TURN = 256  # after so many values, the event loop's other tasks get a turn
MOST_BYTES = 64 << 20  # that a sendmany has on its way


class Formed(NamedTuple):
    """A value's entry, and the hash of its key; None: it has no key."""

    entry: Entry
    hashed: int | None


class Forming:
    """A topic's values and keys, as entries."""

    def __init__(self, title: str, record: Any, codec: Codec | None, partition_by: PartitionBy) -> None:
        self._title = title
        self._shape = shape_of(record, codec)
        self._key_of = key_getter(partition_by, record)
        self.decode = _decoder(self._shape.decode, self._shape.name)

    def formed(self, value: Any, key: Key = None, headers: Mapping[str, bytes | str] | None = None) -> Formed:
        """The entry of a value; ValueMisfit if it does not fit."""
        try:
            return self._formed(self._shape.encode(value), key, headers)
        except Misfit as misfit:
            raise ValueMisfit.unsent(self._title, self._shape.name, str(misfit), misfit.attribute) from misfit.__cause__

    def read(self, text: bytes, key: Key = None, headers: Mapping[str, bytes] | None = None) -> Formed:
        """The entry of a value given as JSON; Misfit if it does not fit."""
        return self._formed(self._shape.read(text), key, headers)

    def convert(self, row: Mapping[str, str], key: Key = None, headers: Mapping[str, bytes] | None = None) -> Formed:
        """The entry of a value whose attributes are all text; Misfit if it does not fit."""
        return self._formed(self._shape.convert(row), key, headers)

    def tombstone(self, key: Key, headers: Mapping[str, bytes | str] | None = None) -> Formed:
        """The entry that says that a key has no value any more."""
        hashed = key_hash(key)  # it refuses a value that cannot be a key
        return Formed(Entry(None, readable(key), _headers(headers)), hashed)

    def _formed(self, encoded: Encoded, key: Key, headers: Mapping[str, bytes | str] | None = None) -> Formed:
        hashed = None if key is None else key_hash(key)
        if key is None and self._key_of is not None:
            key = self._key_of(encoded.value)
            hashed = None if key is None else _hash_of(key)
        return Formed(Entry(encoded.payload, None if key is None else readable(key), _headers(headers)), hashed)

    def all_formed(
        self, values: Iterable[Any] | AsyncIterable[Any], key: Callable[[Any], Key] | None
    ) -> Iterable[Formed] | AsyncIterable[Formed]:
        """The entries of many values. For a list it makes them all at once, else one by one."""

        def form(value: Any) -> Formed:
            return self.formed(value, None if key is None else key(value))

        if isinstance(values, list | tuple):
            return [form(value) for value in values]
        if isinstance(values, AsyncIterable):
            return _formed_soon(values, form)
        if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
            raise InvalidOption(
                f"sendmany takes an iterable of values, not a {type(values).__name__}: send() takes one"
            )
        return map(form, values)


class Outgoing:
    """Chooses partitions and hands entries to the writer, in the order of the sends, also while the log is being opened."""

    def __init__(self, opening: Opening, clock: Clock, limits: Limits, hands: Hands | None = None) -> None:
        self._opening = opening
        self._clock = clock
        self._limits = limits
        self._hands: Hands = Crew(THREADS) if hands is None else hands
        self._writer = Writer(opening, clock, self._hands, limits)
        self._lock = threading.RLock()
        self._early: list[_Early] = []  # sent before the log was open
        self._is_opening = False
        self._turn = random.getrandbits(16)  # so that the writers of a fleet do not all begin with partition 0
        self._looked = clock.monotonic()

    # -- one

    def send(self, formed: Formed) -> Written:
        """Sends it, and waits until it is written."""
        return waited(self._clock, lambda one: self._submit(one, 0, formed, size_of(formed.entry)))

    def send_soon(self, formed: Formed) -> asyncio.Future[Written]:
        """The same inside an event loop; the entry is on its way from now on."""
        return awaited(self._clock, lambda one: self._submit(one, 0, formed, size_of(formed.entry)))

    # -- many

    def many(self, **options: Any) -> Many:
        """Begins a sequence of values."""
        return Many(self._clock, most=self._limits.in_flight, most_bytes=MOST_BYTES, **options)

    def put(self, many: Many, formed: Formed) -> None:
        """Sends the next value of a sequence."""
        size = size_of(formed.entry)
        self._submit(many, many.take(size), formed, size)

    def send_all(self, title: str, entries: Iterable[Formed]) -> list[Written]:
        """Sends all, and waits until they are written; SendFailed if one is not."""
        places: list[Written] = []
        many = self.many(keep=places)
        failed: Exception | None = None
        try:
            try:
                for formed in entries:
                    self.put(many, formed)
                    if not many.has_room and not many.wait_for_room():
                        break
            except Exception as error:  # the iterator failed, or a value does not fit: those before it are written
                failed = error
            many.wait_for_all()
        except BaseException as stop:  # Ctrl-C: values that are not on their way yet are left out
            many.fail(stop)
            raise
        many.check(title, failed)
        return places

    async def send_all_soon(self, title: str, entries: Iterable[Formed] | AsyncIterable[Formed]) -> list[Written]:
        """The same, inside an event loop."""
        places: list[Written] = []
        many = self.many(keep=places)
        failed: Exception | None = None
        try:
            try:
                async for formed in entries if isinstance(entries, AsyncIterable) else _soon(entries):
                    self.put(many, formed)
                    if not many.has_room and not await many.room_awaited():
                        break
            except Exception as error:
                failed = error
            await many.all_awaited()
        except BaseException as stop:
            many.fail(stop)
            raise
        many.check(title, failed)
        return places

    # -- inside

    def _submit(self, sender: Sender, index: int, formed: Formed, size: int) -> None:
        with self._lock:
            count = self._opening.partitions
            if count is not None and not self._early:
                self._route(_Early(sender, index, formed, size), count)
                self._look_now_and_then()
                return
            self._early.append(_Early(sender, index, formed, size))
            if self._is_opening:
                return
            self._is_opening = True
        self._hands.do(self._open)

    def _route(self, told: _Early, count: int) -> None:
        hashed = told.formed.hashed
        if hashed is None:
            self._turn = (self._turn + 1) % count
            partition = self._turn
        else:
            partition = (hashed * count) >> HASH_BITS
        self._writer.submit(told.sender, partition, told.number, told.formed.entry, told.size)

    def _open(self) -> None:
        """Opens the log, on a thread of the crew."""
        refused: Exception | None = None
        count = 0
        limit = min(OPEN_SECONDS, OPEN_SECONDS if self._limits.patience is None else self._limits.patience)
        try:
            count = retrying(self._opening.open, self._clock, Patience(microseconds(limit)))
        except Exception as error:
            refused = error
        with self._lock:
            early, self._early, self._is_opening = self._early, [], False
            if refused is None:
                for told in early:
                    self._route(told, count)
                return
        for told in early:
            job = Job(told.sender, 0)
            job.add(told.number, told.formed.entry, told.size)
            job.fail(refused)
            told.sender.settled(job)

    def _look_now_and_then(self) -> None:
        now = self._clock.monotonic()
        if now - self._looked >= LOOK_AGAIN_SECONDS:
            self._looked = now
            self._hands.do(self._look)

    def _look(self) -> None:
        try:
            self._opening.look_again()
        except StreamiterError as error:
            logger.info("whether there are more partitions cannot be told: %s", error)


def _hash_of(key: Key) -> int:
    try:
        return key_hash(key)
    except InvalidOption as error:
        raise Misfit(str(error)) from None


class _Early(NamedTuple):
    sender: Sender
    number: int  # which of the sender's values it is
    formed: Formed
    size: int


def _headers(headers: Mapping[str, bytes | str] | None) -> tuple[tuple[str, bytes], ...]:
    return () if headers is None else tuple(_header(*pair) for pair in headers.items())


def _header(name: Any, value: Any) -> tuple[str, bytes]:
    if not isinstance(name, str) or not isinstance(value, bytes | str):
        raise InvalidOption("headers= takes a mapping of names to bytes or text")
    return name, value.encode() if isinstance(value, str) else value


def _decoder(decode: Callable[[bytes], Any], name: str) -> Callable[[bytes], Any]:
    """The decoder, with the name of the record, since errors about a payload name it."""

    def made(payload: bytes) -> Any:
        return decode(payload)

    made.__name__ = made.__qualname__ = name
    return made


async def _soon(entries: Iterable[Formed]) -> AsyncIterator[Formed]:
    """The same one by one, with a turn for the other tasks now and then."""
    for number, formed in enumerate(entries, 1):
        yield formed
        if number % OTHERS_TURN == 0:
            await asyncio.sleep(0)


async def _formed_soon(values: AsyncIterable[Any], form: Callable[[Any], Formed]) -> AsyncIterator[Formed]:
    async for value in values:
        yield form(value)
