"""Total order: one lease reads one ordered stream over all shards; its checkpoint is a Stream's token.

A token tells where the stream stands now, and it costs time to take one, so we take it only when we need it. For that reason
we do not read on while the processor has records. If the worker lets the lease go half way through them, the stream gets the
rest back, and its token is exact.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, cast

from streamiter.aio import AsyncStream
from streamiter.aio.taking import fitting
from streamiter.app.pages import Read
from streamiter.app.reader import Reader
from streamiter.clock import SECOND_US
from streamiter.errors import PoisonRecord, RecordsExpired, TransientError
from streamiter.lease.lease import ACCEPTED, AT_TIME, START, Lease, accepted_at
from streamiter.record import SpoiledRecord
from streamiter.source.base import Source
from streamiter.stream.model import RAW

TURN_SECONDS = 1.0  # how long a turn waits for a first record
REST_US = SECOND_US // 4  # after a turn without records
TOKEN_EVERY_US = SECOND_US  # how often a token is taken before a turn, while records are ready
TOKEN_EVERY = 1000  # ... and after so many records
# While no record comes, the token follows the shards' tips: else a stream that was quiet for long would seem to have a gap.
IDLE_TOKEN_EVERY_US = 60 * SECOND_US


class TotalReader(Reader):
    """Reads everything in one order, a list at a time."""

    def __init__(
        self,
        source: Source[Any],
        lease: Lease,
        *,
        size: int,
        within_seconds: float,
        alone: Callable[[Any], bool] | None = None,
        inline: bool = False,
    ) -> None:
        """`alone`: which records come by themselves, so that what precedes them is a batch with a place behind it."""
        self._stream: AsyncStream[Any] = AsyncStream(source, _position(lease), model=cast("Any", RAW), inline=inline)
        self._size = size
        self._within_seconds = within_seconds
        self._alone = alone
        self._given = 0  # how many records were given in all
        self._hand: list[Any] = []  # the last of them, which the stream can still take back
        self._token = lease.checkpoint
        self._token_at = 0  # so many records had been given when it was taken
        self._token_us = 0
        self._earlier = (0, self._token)  # the token before it, and where that stands: a batch that fails is given back
        self._is_reading = False
        self._passes_gaps = lease.progress.get(ACCEPTED) == accepted_at(
            lease.checkpoint
        )  # until the first record comes

    async def turn(self, now_us: int) -> Read:
        """The next records: those that are ready, or those that come within some time."""
        if self._is_token_due(now_us):
            self._take_token(now_us)
        records = self._stream.take_now(self._size)
        if len(records) < self._size and (self._within_seconds or not records):
            # We may wait from here on. So we give back the records that we took, and take the token while it is exact.
            self._stream.put_back(records)
            self._hand = []
            self._take_token(now_us)
            self._is_reading = True
            try:
                records = await self._stream.take(*self._wanted(), alone=self._alone)
            except RecordsExpired as gap:
                if not self._passes_gaps:
                    return Read(gap=gap.reason)
                return await self._pass_gap(now_us)
            except PoisonRecord as error:
                return await self._pass(error)
            except TransientError as error:
                return Read(error=error)  # the stream has tried for as long as its patience lasts
            finally:
                self._is_reading = False
            if not records and now_us - self._token_us >= IDLE_TOKEN_EVERY_US:
                return self._stand(now_us, rest_us=REST_US)
            return self._read(records)
        count, is_whole = fitting(0, records, self._alone)
        if is_whole:
            self._stream.put_back(records[count:])
        self._hand = records[:count]
        return self._read(records[:count])

    async def restart(self) -> None:
        """Goes on behind a gap that an operator accepted."""
        await self._stream.skip()

    async def close(self) -> None:
        """Closes the stream."""
        await self._stream.aclose()

    # -- inside

    def _wanted(self) -> tuple[int, float]:
        if self._within_seconds:
            return self._size, self._within_seconds
        return 1, TURN_SECONDS  # as soon as there is one; what else is ready comes with the next turn

    def _read(self, records: Sequence[Any]) -> Read:
        places = [partial(self._place, self._given + number) for number in range(1, len(records) + 1)]
        self._given += len(records)
        self._passes_gaps = self._passes_gaps and not records
        return Read(records=records, checkpoints=places, rest_us=0 if records else REST_US)

    async def _pass_gap(self, now_us: int) -> Read:
        """Passes the gap that an operator accepted. A gap behind it has to be accepted anew."""
        await self._stream.skip()
        return self._stand(now_us)

    def _stand(self, now_us: int, rest_us: int = 0) -> Read:
        """A turn without records, but with a newer token. All records that were given are processed by now."""
        self._token, self._token_us = json.dumps(self._stream.token, separators=(",", ":")), now_us
        return Read(start=self._token, rest_us=rest_us)

    async def _pass(self, error: PoisonRecord) -> Read:
        """Gives a record that cannot be decoded as a spoiled one, on which the policy decides, and goes on behind it."""
        record = self._stream.next_due
        await self._stream.skip()
        if not isinstance(record, SpoiledRecord):
            reason = str(error.__cause__ or error)
            record = SpoiledRecord(error.shard_id, error.sequence_number, None, reason=reason)
        return self._read([record])

    def _place(self, number: int, is_let_go: bool) -> str | None:
        """The token behind this record, if it is still known. If the lease is let go, gives the later records back first."""
        if number == self._token_at:
            return self._token
        if number == self._earlier[0]:
            return self._earlier[1]
        back = self._given - number
        if self._is_reading or back > len(self._hand):
            return None
        if back:
            if not is_let_go:
                return None  # the rest is with the processor, or will be
            self._stream.put_back(self._hand[-back:])
            del self._hand[-back:]
            self._given -= back
        self._take_token(self._token_us)
        return self._token

    def _is_token_due(self, now_us: int) -> bool:
        return now_us - self._token_us >= TOKEN_EVERY_US or self._given - self._token_at >= TOKEN_EVERY

    def _take_token(self, now_us: int) -> None:
        if self._token_at != self._given:
            self._earlier = (self._token_at, self._token)
            self._token = json.dumps(self._stream.token, separators=(",", ":"))
            self._token_at, self._token_us = self._given, now_us


def _position(lease: Lease) -> Any:
    kind, _, time_us = lease.checkpoint.partition("/")
    if lease.checkpoint == START:
        return "trim_horizon"
    if kind == AT_TIME:
        import arrow

        return arrow.get(int(time_us) / SECOND_US)
    return json.loads(lease.checkpoint)
