"""An app whose stream and whose leases are ministack's, an emulator of other people."""

from __future__ import annotations

import asyncio

from streamiter import DynamoDBStreams
from streamiter.app import App
from streamiter.lease import Lease
from streamiter.store import Table
from streamiter.store.dynamodb import DynamoDBStore
from tests.integration.conftest import Service


def test_workers_follow_each_other(ministack: Service):
    arn = ministack.create_table("shop")
    tables = ministack.client("dynamodb")
    got: list[str] = []

    def store() -> DynamoDBStore:
        return DynamoDBStore("leases", endpoint_url=ministack.endpoint_url, region="us-east-1")

    def run_until(count: int, name: str) -> None:
        app = App("shop", store=store(), failover=2.0, worker_id=name)

        @app.processor(DynamoDBStreams(arn, client=ministack.client("dynamodbstreams")))
        async def work(record):
            got.append(record.key["id"])
            if len(got) == count:
                app.stop()

        asyncio.run(asyncio.wait_for(app.serve(), 120))

    for number in range(60):
        tables.put_item(TableName="shop", Item={"id": {"S": f"u{number}"}})
    run_until(25, "one")
    run_until(60, "two")
    assert got == [f"u{number}" for number in range(60)]
    with store() as opened:
        (lease,) = (Lease.of(row) for row in opened.scan(Table("leases", "shop", "work")))
    assert lease.fence == 2 and lease.owner is None and lease.checkpoint.isdigit()
