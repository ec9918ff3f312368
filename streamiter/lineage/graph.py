"""The lineage: the graph of shards, parents to children, that says which shard may be read when."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator

from streamiter.lineage import notation
from streamiter.shard import Rank, Shard


class Lineage:
    """The shards known so far. Rows only add: what one listing told stays true when the next one lacks it.

    A parent that was never listed (trimmed, or not told yet) counts as absent: it holds nothing up and raises no rank.
    """

    def __init__(self, shards: Iterable[Shard] = ()) -> None:
        self._shards: dict[str, Shard] = {}
        self._children: dict[str, set[str]] = {}  # also of parents that were never listed
        self._fixed_ranks: dict[str, Rank] = {}
        self._ranks: dict[str, Rank] = {}
        for shard in shards:
            self.add(shard)

    @classmethod
    def parse(cls, text: str) -> Lineage:
        """The lineage that a notation describes: `Lineage.parse("S1 => {S12, S13}")`."""
        return cls(notation.parse(text))

    def __repr__(self) -> str:
        return notation.write(self._shards.values())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Lineage) and self._shards == other._shards

    def __contains__(self, shard_id: object) -> bool:
        return shard_id in self._shards

    def __iter__(self) -> Iterator[str]:
        return iter(self._shards)

    def __len__(self) -> int:
        return len(self._shards)

    def __getitem__(self, shard_id: str) -> Shard:
        return self._shards[shard_id]

    def add(self, shard: Shard) -> bool:
        """Takes a row of a listing in; whether it told anything new. Repeats join: closed once is closed for good."""
        known = self._shards.get(shard.id)
        hash_keys = shard.hash_keys or (known and known.hash_keys) or None
        if known is not None and shard == known and hash_keys == known.hash_keys:
            return False
        parents = [] if known is None else list(known.parents)
        parents += [
            parent for parent in shard.parents if parent not in parents and not self._is_below(parent, shard.id)
        ]
        merged = Shard(shard.id, tuple(parents), shard.closed or (known is not None and known.closed), hash_keys)
        self._shards[shard.id] = merged
        if merged == known:
            return False
        for parent in parents:
            self._children.setdefault(parent, set()).add(shard.id)
        self._ranks.clear()
        return True

    def remove(self, shard_id: str) -> None:
        """Forgets a shard that the service no longer lists. Its children keep its name, as that of an absent parent."""
        shard = self._shards.pop(shard_id)
        for parent in shard.parents:
            self._children[parent].discard(shard_id)
            if not self._children[parent]:
                del self._children[parent]
        self._fixed_ranks.pop(shard_id, None)
        self._ranks.clear()

    def parents(self, shard_id: str) -> list[str]:
        """The parents that are known: a named one that was never listed is absent."""
        return [parent for parent in self._shards[shard_id].parents if parent in self._shards]

    def children(self, shard_id: str) -> list[str]:
        """The children known so far, by id."""
        return sorted(self._children.get(shard_id, ()))

    def ancestors(self, *shard_ids: str) -> set[str]:
        """All the known ancestors of these shards; the shards may be unknown themselves."""
        return self._walk(shard_ids, lambda shard_id: self.parents(shard_id) if shard_id in self._shards else [])

    def descendants(self, *shard_ids: str) -> set[str]:
        """All the known descendants of these shards; the shards may be unknown themselves."""
        return self._walk(shard_ids, self.children)

    def roots(self) -> list[str]:
        """The shards without a known parent, by id."""
        return sorted(shard_id for shard_id in self._shards if not self.parents(shard_id))

    def leaves(self) -> list[str]:
        """The shards without a known child, by id."""
        return sorted(shard_id for shard_id in self._shards if shard_id not in self._children)

    def is_ready(self, shard_id: str, ended: Container[str] = ()) -> bool:
        """Whether a shard may be read: each of its known parents was read to its end (law 2)."""
        return all(parent in ended for parent in self.parents(shard_id))

    def is_whole(self, shard_id: str) -> bool:
        """Whether each parent that the shard names is known."""
        return all(parent in self._shards for parent in self._shards[shard_id].parents)

    def rank(self, shard_id: str) -> Rank:
        """Where the shard stands in ties: (greatest id among itself and its ancestors, depth, id)."""
        pending = [shard_id]
        while pending:
            current = pending[-1]
            missing = [parent for parent in self.parents(current) if self._known_rank(parent) is None]
            if missing and self._known_rank(current) is None:
                pending += missing
                continue
            pending.pop()
            if self._known_rank(current) is None:
                self._ranks[current] = self._rank_below(current)
        rank = self._known_rank(shard_id)
        assert rank is not None
        return rank

    def fix_rank(self, shard_id: str, rank: Rank) -> None:
        """Keeps a rank as it is, whatever ancestors are trimmed or turn up: a shard under way must not change places."""
        self._fixed_ranks[shard_id] = rank
        if self._ranks.get(shard_id, rank) != rank:
            self._ranks.clear()

    def _known_rank(self, shard_id: str) -> Rank | None:
        return self._fixed_ranks.get(shard_id) or self._ranks.get(shard_id)

    def _rank_below(self, shard_id: str) -> Rank:
        above = [self.rank(parent) for parent in self.parents(shard_id)]
        greatest = max([shard_id, *(rank.greatest for rank in above)])
        return Rank(greatest, 1 + max((rank.depth for rank in above), default=-1), shard_id)

    def _is_below(self, shard_id: str, ancestor: str) -> bool:
        # A listing whose links run in a circle would never become ready: the link that closes it is left out.
        return shard_id == ancestor or (ancestor in self._children and shard_id in self.descendants(ancestor))

    def _walk(self, start: Iterable[str], step: Callable[[str], Iterable[str]]) -> set[str]:
        found: set[str] = set()
        pending = list(start)
        while pending:
            for shard_id in step(pending.pop()):
                if shard_id not in found:
                    found.add(shard_id)
                    pending.append(shard_id)
        return found
