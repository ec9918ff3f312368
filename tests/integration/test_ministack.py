"""Against ministack, an emulator of other people: one shard that never closes, no AT_TIMESTAMP, its own sequence numbers."""

from __future__ import annotations

import json
from decimal import Decimal

import pyarrow as pa
import pytest
from boto3.dynamodb.types import TypeSerializer

from streamiter import DynamoDBStreams, InvalidStream, InvalidToken, Stream
from streamiter.testing import ManualClock
from tests.integration.conftest import Service

serialize = TypeSerializer().serialize
Image = dict


class Table:
    """A table of ministack's, and what was done to it."""

    def __init__(self, service: Service, name: str) -> None:
        self.name = name
        self.service = service
        self.arn = service.create_table(name)
        self.changes: list[tuple[str, Image | None, Image | None]] = []  # event, old, new
        self._rows: dict[str, Image] = {}
        self._tables = service.client("dynamodb")

    def put(self, row: Image) -> None:
        old = self._rows.get(row["id"])
        self._tables.put_item(TableName=self.name, Item={name: serialize(value) for name, value in row.items()})
        self._rows[row["id"]] = row
        self.changes.append(("MODIFY" if old else "INSERT", old, row))

    def delete(self, key: str) -> None:
        self._tables.delete_item(TableName=self.name, Key={"id": {"S": key}})
        self.changes.append(("REMOVE", self._rows.pop(key), None))

    def stream(self, position="trim_horizon", **options) -> Stream:
        # By a clock turned by sleeping: empty pages are asked for without waiting for the next second.
        options.setdefault("clock", ManualClock())
        return Stream(DynamoDBStreams(self.arn, client=self.service.client("dynamodbstreams")), position, **options)


@pytest.fixture
def table(ministack: Service, request: pytest.FixtureRequest) -> Table:
    return Table(ministack, f"t{abs(hash(request.node.nodeid)) % 10**9}")


def changes(records) -> list[tuple[str, Image | None, Image | None]]:
    return [(record.event_name, record.old, record.new) for record in records]


def all_of(stream: Stream) -> list:
    return [record for batch in stream.batches(100, until="caught_up") for record in batch]


def test_changes_come_once_and_in_order(table: Table):
    for number in range(50):
        table.put({"id": f"u{number % 10}", "n": Decimal(number)})
    for number in range(10):
        table.delete(f"u{number}")
    with table.stream() as stream:
        records = all_of(stream)
        assert changes(records) == table.changes
        assert next(stream) is None
    keys = [record.order_key for record in records]
    assert keys == sorted(set(keys))
    assert not any(record.late for record in records)


def test_values_of_all_types_come_back(table: Table):
    row = {
        "id": "a",
        "s": "ü",
        "n": Decimal("12345678901234567890123456789012345678"),
        "b": b"\x00\xff",
        "t": True,
        "z": None,
        "ss": {"x", "y"},
        "ns": {Decimal(1), Decimal("2.5")},
        "bs": {b"1", b"2"},
        "l": [Decimal(1), "x", [None]],
        "m": {"deep": {"er": [False]}},
    }
    table.put(row)
    with table.stream() as stream:
        [record] = all_of(stream)
    assert record.new == row
    assert record.key == {"id": "a"}


def test_a_token_after_each_record_gives_the_rest(table: Table):
    for number in range(12):
        table.put({"id": str(number)})
    with table.stream() as stream:
        for came in range(1, 13):
            record = next(stream)
            assert record is not None
            with table.stream(json.loads(json.dumps(stream.token))) as resumed:
                assert changes(all_of(resumed)) == table.changes[came:]


def test_what_is_written_later_comes_later(table: Table):
    table.put({"id": "a"})
    with table.stream() as stream:
        assert len(all_of(stream)) == 1
        table.put({"id": "b"})
        table.delete("a")
        assert changes(all_of(stream)) == table.changes[1:]


def test_latest_falls_back_where_at_timestamp_is_refused(table: Table):
    with table.stream("latest", lateness=0.0) as stream:
        table.put({"id": "b"})
        assert changes(all_of(stream)) == table.changes
        token = stream.token
    table.put({"id": "c"})
    with table.stream(token) as stream:
        assert changes(all_of(stream)) == table.changes[1:]


def test_to_arrow(table: Table):
    for number in range(30):
        table.put({"id": str(number)})
    with table.stream() as stream:
        rows = stream.to_arrow()
    assert isinstance(rows, pa.Table)
    assert [json.loads(text)["id"]["S"] for text in rows["keys"].to_pylist()] == [str(number) for number in range(30)]


def test_more_than_a_page(table: Table):
    for number in range(1100):
        table.put({"id": str(number % 7)})
    with table.stream() as stream:
        assert changes(all_of(stream)) == table.changes


def test_by_url_and_by_table_name(table: Table, ministack: Service):
    table.put({"id": "a"})
    url = f"dynamodb://{table.name}?endpoint_url={ministack.endpoint_url}&region=us-east-1"
    for source in (url, DynamoDBStreams(table.name, endpoint_url=ministack.endpoint_url, region="us-east-1")):
        with Stream(source, clock=ManualClock()) as stream:
            assert changes(all_of(stream)) == table.changes
    with Stream(DynamoDBStreams(table.name, client=ministack.client("dynamodbstreams")), clock=ManualClock()) as stream:
        assert changes(all_of(stream)) == table.changes


def test_a_table_without_a_stream(ministack: Service):
    ministack.client("dynamodb").create_table(
        TableName="quiet",
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        BillingMode="PAY_PER_REQUEST",
    )
    with pytest.raises(InvalidStream, match="table quiet has no stream; enable one"):
        Stream(f"dynamodb://quiet?endpoint_url={ministack.endpoint_url}&region=us-east-1")


def test_a_table_that_is_not_there(ministack: Service):
    with pytest.raises(InvalidStream, match="there is no table nowhere in us-east-1 at"):
        Stream(f"dynamodb://nowhere?endpoint_url={ministack.endpoint_url}&region=us-east-1")


def test_a_re_enabled_stream_is_another_one(table: Table, ministack: Service):
    table.put({"id": "a"})
    with table.stream() as stream:
        all_of(stream)
        token = stream.token
    tables = ministack.client("dynamodb")
    tables.update_table(TableName=table.name, StreamSpecification={"StreamEnabled": False})
    tables.update_table(
        TableName=table.name, StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"}
    )
    url = f"dynamodb://{table.name}?endpoint_url={ministack.endpoint_url}&region=us-east-1"
    with pytest.raises(InvalidToken, match="disabled and enabled again"):
        Stream(url, token)
