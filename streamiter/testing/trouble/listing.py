"""Listings: what DescribeStream shows of the shards, and the times in which it lags or leaves shards out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypedDict

from streamiter.clock import SECOND_US
from streamiter.testing.trouble.weather import Weather
from streamiter.testing.truth.shards import SimulatedShard

Mood = Literal["hidden", "open", "twice", "nothing"]


@dataclass(frozen=True)
class Row:
    """A shard as a listing shows it."""

    shard_id: str
    parent_id: str | None
    starting: int
    ending: int | None


@dataclass(frozen=True)
class ListingPage:
    """A page of a listing."""

    rows: list[Row]
    last_id: str | None  # LastEvaluatedShardId


class Bounds(TypedDict, total=False):
    """A spell lasts so many passes, calls or seconds, whichever is over first; it begins after `after` more passes.

    Without bounds it lasts until listings are told to show all again.
    """

    passes: int
    calls: int
    seconds: float
    after: int


@dataclass
class Spell:
    """A time in which the listing is wrong in one way; it ends at the first of its bounds."""

    mood: Mood
    shard_ids: frozenset[str]
    until_pass: float
    until_call: float
    until_us: float
    from_pass: int = 0

    def is_on(self, passes: int, calls: int, now_us: int) -> bool:
        """Whether the call under way falls into it."""
        return self.from_pass < passes <= self.until_pass and calls <= self.until_call and now_us < self.until_us


class Listing:
    """The listing of one stream. A *pass* begins with each DescribeStream call that names no shard to start after."""

    def __init__(self) -> None:
        self.passes = 0
        self.calls = 0
        self.spells: list[Spell] = []
        self.weather: Weather | None = None
        self._met: dict[str, int] = {}  # the pass in which the listing met a shard first
        self.cursor_repeats: float = 0  # how many more times a call gives back the LastEvaluatedShardId it was given

    def cast(self, mood: Mood, shard_ids: frozenset[str], now_us: int, bounds: Bounds) -> None:
        """A spell begins, now or after some more passes."""
        never = float("inf")
        from_pass = self.passes + bounds.get("after", 0)
        self.spells.append(
            Spell(
                mood,
                shard_ids,
                until_pass=from_pass + bounds["passes"] if "passes" in bounds else never,
                until_call=self.calls + bounds["calls"] if "calls" in bounds else never,
                until_us=now_us + bounds["seconds"] * SECOND_US if "seconds" in bounds else never,
                from_pass=from_pass if bounds.get("after") else 0,
            )
        )

    def clear(self) -> None:
        """All spells end."""
        self.spells.clear()
        self.cursor_repeats = 0

    def page(
        self, shards: Sequence[SimulatedShard], start_after: str | None, limit: int, now_us: int, *, empty_end: bool
    ) -> ListingPage:
        """One call's answer. Pages are cut from the whole truth, so that hidden rows leave short pages behind.

        `shards` holds those that are not listed any more, too: a reader may stand at one. With `empty_end`, the last
        page is an empty one.
        """
        self.calls += 1
        if start_after is None:
            self.passes += 1
        if self._ids("nothing", now_us) is not None or (self.weather and self.weather.is_blank(self.passes)):
            return ListingPage([], None)
        rest = [shard for shard in shards[_place_after(shards, start_after) :] if shard.is_listed]
        page = rest[:limit]
        last_id = page[-1].id if page and (empty_end or len(rest) > limit) else None
        if start_after is not None and self.cursor_repeats >= 1:
            self.cursor_repeats -= 1
            last_id = start_after
        return ListingPage(self._rows(page, now_us), last_id)

    def _rows(self, shards: Sequence[SimulatedShard], now_us: int) -> list[Row]:
        hidden, still_open, twice = (self._ids(mood, now_us) or () for mood in ("hidden", "open", "twice"))
        rows: list[Row] = []
        for shard in shards:
            if shard.id in hidden or self._is_late(shard):
                continue
            is_open, is_double = shard.id in still_open, shard.id in twice
            if self.weather is not None:
                is_open = is_open or self.weather.shows_open(shard.name, self.passes)
                is_double = is_double or self.weather.doubles(shard.name, self.passes)
            row = Row(shard.id, shard.parent_id, shard.starting, None if is_open else shard.ending)
            rows += [row, row] if is_double else [row]
        return rows

    def _is_late(self, shard: SimulatedShard) -> bool:
        met = self._met.setdefault(shard.id, self.passes)
        return self.weather is not None and self.weather.hides(shard.name, self.passes - met)

    def _ids(self, mood: str, now_us: int) -> frozenset[str] | None:
        on = [spell for spell in self.spells if spell.mood == mood and spell.is_on(self.passes, self.calls, now_us)]
        return frozenset[str]().union(*(spell.shard_ids for spell in on)) if on else None


def _place_after(shards: Sequence[SimulatedShard], shard_id: str | None) -> int:
    if shard_id is None:
        return 0
    for place, shard in enumerate(shards):
        if shard.id == shard_id:
            return place + 1
    # The shard is unknown, or gone: the listing continues where its id would stand, since ids sort by age.
    return next((place for place, shard in enumerate(shards) if shard.id > shard_id), len(shards))
