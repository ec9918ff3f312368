"""A world: a table at one of the services, and how far its stream was read."""

from __future__ import annotations

from typing import Any

from tests.testing.differential.services import Service

KEYS = {
    "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
}


class World:
    """A table at one of the services, and how far its stream was read."""

    def __init__(self, service: Service, table: str, view: str) -> None:
        self.service = service
        self.table = table
        self.arn = ""
        self.iterators: dict[str, str | None] = {}
        self.enable(view, is_new=True)

    def enable(self, view: str, *, is_new: bool = False) -> None:
        stream = {"StreamSpecification": {"StreamEnabled": True, "StreamViewType": view}}
        if is_new:
            self.service.tables.create_table(TableName=self.table, BillingMode="PAY_PER_REQUEST", **KEYS, **stream)
        else:
            self.service.tables.update_table(TableName=self.table, **stream)
        self.arn = self.service.tables.describe_table(TableName=self.table)["Table"]["LatestStreamArn"]
        self.iterators.clear()

    @property
    def shards(self) -> list[dict[str, Any]]:
        shards: list[dict[str, Any]] = self._describe()["Shards"]
        return shards

    @property
    def shard_id(self) -> str:
        return str(self.shards[0]["ShardId"])

    def iterator(self, type: str = "TRIM_HORIZON", **more: Any) -> str:
        place = {"StreamArn": self.arn, "ShardId": self.shard_id}
        return str(self.service.streams.get_shard_iterator(**place, ShardIteratorType=type, **more)["ShardIterator"])

    def read(self) -> list[dict[str, Any]]:
        """The records that came since the last reading."""
        records: list[dict[str, Any]] = []
        for shard in self.shards:
            shard_id = shard["ShardId"]
            at = self.iterators[shard_id] if shard_id in self.iterators else self.iterator()
            for _ in range(3):  # until an empty page, or the end
                if at is not None:
                    page = self.service.streams.get_records(ShardIterator=at)
                    records += page["Records"]
                    at = page.get("NextShardIterator")
                    if not page["Records"]:
                        break
            self.iterators[shard_id] = at
        return records

    def _describe(self) -> dict[str, Any]:
        description: dict[str, Any] = self.service.streams.describe_stream(StreamArn=self.arn)["StreamDescription"]
        return description
