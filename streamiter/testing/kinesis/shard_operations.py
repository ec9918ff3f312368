"""Operations on shards: listed, split, merged."""

from __future__ import annotations

from typing import Any

from streamiter.clock import microseconds
from streamiter.testing.http.refusal import Refusal, invalid
from streamiter.testing.kinesis.asked import wrong
from streamiter.testing.kinesis.filters import filtered
from streamiter.testing.kinesis.iterators import ListToken
from streamiter.testing.kinesis.operations import Asked, Operation, Operations
from streamiter.testing.kinesis.service import hash_keys
from streamiter.testing.kinesis.settings import check_often
from streamiter.testing.kinesis.stream_operations import check_count, told_stream
from streamiter.testing.kinesis.truth import KinesisShard, KinesisTruth

MAX_SHARDS = 1000
MOST_COUNT_CHANGES = 10  # in 24 hours


class ShardOperations(Operations):
    """See operations.Operations."""

    @property
    def all(self) -> dict[str, Operation]:
        return {
            "DescribeStream": self._describe,
            "ListShards": self._list,
            "SplitShard": self._split,
            "MergeShards": self._merge,
            "UpdateShardCount": self._update_count,
        }

    # -- listed

    def _describe(self, asked: Asked, now_us: int) -> dict[str, Any]:
        stream = self._stream(asked, now_us)
        after = asked.get("ExclusiveStartShardId")
        if stream.status(now_us) == "CREATING":
            return {"StreamDescription": told_stream(stream, now_us) | {"Shards": [], "HasMoreShards": False}}
        shards, following = self._rows(stream, list(stream.shards.values()), after, asked.get("Limit") or 100, now_us)
        told = told_stream(stream, now_us) | {"Shards": shards, "HasMoreShards": following is not None}
        return {"StreamDescription": told}

    def _list(self, asked: Asked, now_us: int) -> dict[str, Any]:
        after = asked.get("ExclusiveStartShardId")
        if "NextToken" in asked:
            for member in ("StreamName", "StreamCreationTimestamp", "ExclusiveStartShardId"):
                if member in asked:
                    raise wrong(f"NextToken and {member} cannot be provided together.")
            token = ListToken.read(asked["NextToken"], now_us)
            if not token.stream:
                raise wrong("NextToken is invalid")
            limit = asked.get("MaxResults")
            asked, after = {"StreamName": token.stream, "ShardFilter": token.filter, "MaxResults": limit}, token.after
        if asked.get("StreamName") is None and asked.get("StreamARN") is None:
            raise wrong("Either NextToken or StreamName should be provided.")
        stream = self._service.stream(asked.get("StreamName"), asked.get("StreamARN"), now_us)
        self._service.check_created(stream, asked.get("StreamCreationTimestamp"))
        self._service.check_status(stream, ("ACTIVE", "UPDATING"), now_us)
        shard_filter = asked.get("ShardFilter")
        shards = filtered(stream, shard_filter, now_us)
        rows, following = self._rows(stream, shards, after, asked.get("MaxResults") or MAX_SHARDS, now_us)
        if following is None:
            return {"Shards": rows}
        return {"Shards": rows, "NextToken": ListToken(stream.name, following, now_us, shard_filter).encode()}

    def _rows(
        self, stream: KinesisTruth, shards: list[KinesisShard], after: str | None, limit: int, now_us: int
    ) -> tuple[list[dict[str, Any]], str | None]:
        stream.listing.weather = self._knobs.weather
        limit = min(limit, self._knobs.shards_per_page * 10)
        page = stream.listing.page(shards, after, limit, now_us, empty_end=self._knobs.ends_with_empty_page)
        rows = []
        for row in page.rows:
            shard = stream.shards[row.shard_id]
            numbers = {"StartingSequenceNumber": str(row.starting)}
            if row.ending is not None:
                numbers["EndingSequenceNumber"] = str(row.ending)
            parents = dict(zip(("ParentShardId", "AdjacentParentShardId"), shard.parents, strict=False))
            rows.append(
                {"ShardId": shard.id, **parents, "HashKeyRange": hash_keys(shard), "SequenceNumberRange": numbers}
            )
        return rows, page.last_id

    # -- split and merged

    def _split(self, asked: Asked, now_us: int) -> None:
        stream = self._reshardable(asked, now_us)
        shard = self._known(stream, asked["ShardToSplit"])
        self._service.check_shards(1)
        at, place = int(asked["NewStartingHashKey"]), f"in stream {stream.name} under account {self._service.account}"
        if not shard.keys.first + 1 < at < shard.keys.last:
            told = f"NewStartingHashKey {at} used in SplitShard() on shard {shard.id} {place} is not both greater than"
            bounds = f"one plus the shard's StartingHashKey {shard.keys.first} and less than the shard's EndingHashKey"
            raise wrong(f"{told} {bounds} {shard.keys.last}.")
        self._service.check_status(stream, ("ACTIVE",), now_us)
        self._check_open(stream, shard)
        stream.split(shard, at, now_us)
        self._service.resharded(stream, now_us)

    def _merge(self, asked: Asked, now_us: int) -> None:
        stream = self._reshardable(asked, now_us)
        ids = asked["ShardToMerge"], asked["AdjacentShardToMerge"]
        one, other = (self._known(stream, shard_id) for shard_id in ids)
        stream.check_adjacent(one, other)
        self._service.check_status(stream, ("ACTIVE",), now_us)
        self._check_open(stream, one, other)
        stream.merge(one, other, now_us)
        self._service.resharded(stream, now_us)

    def _reshardable(self, asked: Asked, now_us: int) -> KinesisTruth:
        stream = self._stream(asked, now_us)
        if stream.is_on_demand:
            told = f"Stream {stream.name} under account {self._service.account} is in On-Demand mode."
            raise invalid(f"Request is invalid. {told}")
        if stream.status(now_us) == "CREATING":  # It has no shards before it is made.
            self._service.check_status(stream, ("ACTIVE",), now_us)
        return stream

    def _known(self, stream: KinesisTruth, shard_id: str) -> KinesisShard:
        known = self._service.known_id(stream.name, shard_id)
        if known not in stream.shards:
            place = f"in stream {stream.name} under account {self._service.account}"
            raise Refusal("ResourceNotFoundException", f"Could not find shard {known} {place}.")
        return self._service.shard(stream, known)

    def _check_open(self, stream: KinesisTruth, *shards: KinesisShard) -> None:
        for shard in shards:
            if shard.is_closed:
                place = f"in stream {stream.name} under account {self._service.account}"
                told = "has already been merged or split, and thus is not eligible for merging or splitting."
                raise wrong(f"Shard {shard.id} {place} {told}")

    def _update_count(self, asked: Asked, now_us: int) -> dict[str, Any]:
        stream = self._reshardable(asked, now_us)
        self._service.check_status(stream, ("ACTIVE",), now_us)
        before, target = len(stream.open_shards()), asked["TargetShardCount"]
        bounds = ((target > before * 2, "up over double"), (target < before / 2, "down below half"))
        for is_beyond, words in bounds:
            if is_beyond:
                counts = f"Current open shard count: {before} Target shard count: {target}"
                raise wrong(f"UpdateShardCount cannot scale {words} your current open shard count. {counts}")
        check_count(target)
        self._service.check_shards(max(0, target - before))
        changes = stream.settings.count_changes_us
        check_often(changes, MOST_COUNT_CHANGES, now_us, "UpdateShardCount may scale a stream")
        stream.reshard(target, now_us)
        self._service.resharded(stream, now_us)
        told = {"StreamName": stream.name, "StreamARN": stream.arn}
        return told | {"CurrentShardCount": before, "TargetShardCount": target}


def time_us(asked: Asked) -> int | None:
    """The time in a request, if there is one."""
    time = asked.get("Timestamp")
    return None if time is None else microseconds(time)
