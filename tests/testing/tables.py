"""Real tables for tests: one made by a client, and what its stream tells."""

from __future__ import annotations

from typing import Any

from streamiter.testing import Simulator

KEYS: dict[str, Any] = {
    "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
    "BillingMode": "PAY_PER_REQUEST",
}


class Orders:
    """A table `orders` that a client made, and its clients."""

    def __init__(self, sim: Simulator, view: str | None = "NEW_AND_OLD_IMAGES", **more: Any) -> None:
        self.sim = sim
        self.tables = sim.client("dynamodb")
        self.streams = sim.client()
        stream = {"StreamSpecification": {"StreamEnabled": True, "StreamViewType": view}} if view else {}
        self.made = self.tables.create_table(TableName="orders", **(KEYS | stream | more))["TableDescription"]

    @property
    def arn(self) -> str:
        return self.describe()["LatestStreamArn"]

    def describe(self) -> dict[str, Any]:
        return self.tables.describe_table(TableName="orders")["Table"]

    def put(self, key: str, **more: Any) -> Any:
        return self.tables.put_item(TableName="orders", Item={"id": {"S": key}, **more})

    def update(self, key: str, expression: str, **values: Any) -> Any:
        named = {"ExpressionAttributeValues": {f":{name}": value for name, value in values.items()}} if values else {}
        return self.tables.update_item(TableName="orders", Key={"id": {"S": key}}, UpdateExpression=expression, **named)

    def delete(self, key: str) -> Any:
        return self.tables.delete_item(TableName="orders", Key={"id": {"S": key}})

    def specify(self, **stream: Any) -> Any:
        return self.tables.update_table(TableName="orders", StreamSpecification=stream)

    def live_until(self, end: float | str, key: str = "ends") -> None:
        self.put(key, end={"N": str(int(end)) if isinstance(end, float) else end})

    def shards(self, arn: str = "") -> list[dict[str, Any]]:
        return self.streams.describe_stream(StreamArn=arn or self.arn)["StreamDescription"]["Shards"]

    def records(self, arn: str = "") -> list[dict[str, Any]]:
        """All records of the stream, shard by shard."""
        arn = arn or self.arn
        records: list[dict[str, Any]] = []
        for shard in self.shards(arn):
            place = {"StreamArn": arn, "ShardId": shard["ShardId"]}
            at = self.streams.get_shard_iterator(**place, ShardIteratorType="TRIM_HORIZON")["ShardIterator"]
            records += self.streams.get_records(ShardIterator=at)["Records"]
        return records

    def events(self) -> list[tuple[str, str]]:
        """What happened to which key."""
        return [(record["eventName"], record["dynamodb"]["Keys"]["id"]["S"]) for record in self.records()]
