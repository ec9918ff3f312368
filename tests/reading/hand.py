"""The hand: a reading that a test drives without a service: pages and listings are told in a line each, in any order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from streamiter.errors import IteratorExpired
from streamiter.position import Position
from streamiter.precision import Precision
from streamiter.reading import Reading
from streamiter.record import Record
from streamiter.shard import Shard
from streamiter.source.base import Page, ShardIterator, ShardPage
from streamiter.token import Token


class Hand(Reading):
    """A reading, and short words for what may happen to it."""

    def __init__(self, token: Token, *, lateness_us: int | None = 1_000_000, **options: Any) -> None:
        super().__init__(token, precision=Precision(lateness_us or 0), holds=lateness_us is not None, **options)

    def tell(self, rows: Sequence[Shard], service_us: int, now_us: int, *, is_final: bool = False) -> None:
        """A listing begins, and tells these rows."""
        self.begin_listing(now_us)
        self.listed(ShardPage(tuple(rows), None, service_us, is_final), now_us)

    def begin_listing(self, now_us: int) -> None:
        self._listing.ask(now_us, self.book.discovery.begin)

    def wants_listing(self, now_us: int) -> bool:
        return self.listing_due_us is not None and self.listing_due_us <= now_us

    @property
    def listing_due_us(self) -> int | None:
        return self._listing_due_us

    def push(
        self,
        shard_id: str,
        records: Sequence[Record],
        service_us: int,
        now_us: int,
        *,
        ended: bool = False,
        opened: bool = False,
        caught_up: bool | None = None,
        children: Sequence[Shard] = (),
        skipped: int = 0,
    ) -> None:
        """A page of the shard comes."""
        if opened:
            self.opened(shard_id)
        following = None if ended else ShardIterator(shard_id, None)
        page = Page(records, following, service_us, caught_up, 100 * len(records), tuple(children))
        self.paged(shard_id, page, now_us, skipped=skipped)

    def expire(self, shard_id: str, now_us: int) -> None:
        """The service refuses the shard's iterator: it is too old."""
        self.failed(shard_id, IteratorExpired("too old"), now_us)

    def due(self, now_us: int) -> list[str]:
        """The shards that are due, in their order; none of them is asked."""
        return self.asking.due(now_us, 1 << 30)

    def ask(self, shard_id: str) -> None:
        """The shard is asked, whether it is due or not."""
        self.asking._ask(self.book[shard_id], self._open_at)

    def opening(self, shard_id: str) -> Position | None:
        """Where the shard would be opened now."""
        return self._open_at(self.book[shard_id])
