"""The frontier: which of the known shards were read, which are not yet, and of which it is not clear what they follow."""

from __future__ import annotations

from collections.abc import Mapping

from streamiter.lineage import Lineage
from streamiter.merge import Lane
from streamiter.shard import Shard
from streamiter.token import Token


class Frontier:
    """The states of shards, but for those of lanes. A shard is an ancestor of the token's lanes and was read; or it is a lane;
    or it is unread."""

    def __init__(self, lineage: Lineage, lanes: Mapping[str, Lane], token: Token) -> None:
        self.read: set[str] = set()
        self.unread: set[str] = set()
        self.unsure: set[str] = set()  # of these it is not clear yet what they follow: nothing may come out
        self.passed: set[str] = set()  # read to their end: what is below them may be opened
        self.asleep: set[str] = set()  # lanes of the token that may not be read yet
        self._lineage = lineage
        self._lanes = lanes
        self._named = frozenset(lane.shard for lane in token.lanes)
        self._is_first = token.fresh

    # -- events in

    def see(self, shard: Shard) -> bool:
        """Takes a row of a listing in; gives whether it told anything new."""
        is_news = self._lineage.add(shard)
        if shard.id not in self._lanes and shard.id not in self.read:
            self.unread.add(shard.id)
        return is_news

    def look_up(self) -> None:
        """Rows brought news: what is above the token's lanes was read before it.

        A parent that turns up above another lane was not.
        """
        above = self._lineage.ancestors(*self._named) - self._lanes.keys()
        self.read |= above
        self.passed |= above
        self.unread -= above
        self.unsure -= above

    def wait(self, shard_id: str) -> None:
        """It is not clear yet what the shard follows."""
        self.unsure.add(shard_id)

    def open(self, shard_id: str) -> None:
        """The shard is read from now on, or counts as read."""
        self.unread.discard(shard_id)
        self.asleep.discard(shard_id)
        self.unsure.discard(shard_id)

    def count_as_read(self, shard_id: str) -> None:
        """Nobody is to read the shard."""
        self.read.add(shard_id)
        self.passed.add(shard_id)

    def forget(self, shard_id: str) -> None:
        """The service does not list the shard any more, and it was read."""
        self.read.discard(shard_id)
        self.passed.discard(shard_id)
        self._lineage.remove(shard_id)

    # -- questions

    def is_ready(self, shard_id: str) -> bool:
        """Whether each of its known parents was read to its end."""
        return self._lineage.is_ready(shard_id, self.passed)

    def is_connected(self, shard_id: str) -> bool:
        """Whether what is known leaves no room for an unlisted shard between: each parent it names is known."""
        if not self._lineage.is_whole(shard_id):
            return False
        return bool(self._lineage[shard_id].parents) or self._is_first

    def is_linked(self, shard_id: str) -> bool:
        """Whether the shard is below one of the token's lanes, or has an ancestor in common with one."""
        above = self._lineage.ancestors(shard_id)
        return not above.isdisjoint(self._named) or not above.isdisjoint(self._lineage.ancestors(*self._named))

    @property
    def doubtful(self) -> list[str]:
        """The unread shards that nothing connects."""
        return [shard_id for shard_id in self.unread if not self.is_connected(shard_id)]
