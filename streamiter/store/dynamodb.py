"""The DynamoDB store: rows in one table for many apps, changed by conditional writes."""

from __future__ import annotations

import json
import threading
from abc import abstractmethod
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any

from botocore.config import Config

from streamiter.clock import Clock, SystemClock
from streamiter.errors import Conflict, InvalidOption, InvalidStore, TransientError
from streamiter.source.aws import aws_errors, check_endpoint, client_config
from streamiter.source.sessions import new_session
from streamiter.store.base import CALL_SECONDS, LEASES, Row, Store, Table, next_version

_CONNECTIONS = 32
_READY_SECONDS = 120.0  # how long a table may take to be made
_LOOK_SECONDS = 0.5

Item = dict[str, Any]


class DynamoDBTable(Store):
    """What stores in a DynamoDB table share: the client, a table that is made where it is missing, conditional writes."""

    def __init__(
        self,
        table_name: str,
        *,
        client: Any = None,
        session: Any = None,
        endpoint_url: str | None = None,
        region: str | None = None,
        clock: Clock | None = None,
        call_seconds: float = CALL_SECONDS,
    ) -> None:
        check_endpoint(endpoint_url)
        if client is not None and (session is not None or endpoint_url is not None or region is not None):
            raise InvalidOption("pass client=, or session=, endpoint_url= and region=, not both: a client has its own")
        self._name = table_name
        self._client = client
        self._is_own = client is None
        self._options = (session, {"endpoint_url": endpoint_url, "region_name": region})
        self._clock = clock or SystemClock()
        self._call_seconds = call_seconds
        self._lock = threading.Lock()
        self._is_ready = False
        self._is_closed = False

    def close(self) -> None:
        """Closes the connections of a client of its own."""
        self._is_closed = True
        if self._is_own and self._client is not None:
            self._client.close()

    @abstractmethod
    def _schema(self) -> dict[str, Any]:
        """Keys of the table, as CreateTable takes them."""

    def _ready(self) -> Any:
        """The client, once the table is there and ACTIVE."""
        if self._is_closed:
            raise InvalidStore(f"{self!r} was closed; open another one")
        if not self._is_ready:
            with self._lock:
                if self._client is None:
                    self._client = self._make_client()
                if not self._is_ready:
                    self._make_table()
                    self._is_ready = True
        return self._client

    def _make_client(self) -> Any:
        session, options = self._options
        with aws_errors("dynamodb:*", repr(self)):
            session = session or new_session()
            limits = Config(read_timeout=self._call_seconds, connect_timeout=self._call_seconds)
            config = client_config(_CONNECTIONS, session=session).merge(limits)
            return session.client("dynamodb", config=config, **options)

    def _make_table(self) -> None:
        ends = self._clock.monotonic() + _READY_SECONDS
        is_created = False
        while (status := self._status()) != "ACTIVE":
            if status is None:
                self._create()
                if not is_created:
                    is_created = True
                    continue  # an emulator has the table at once
            elif status not in ("CREATING", "UPDATING"):
                raise InvalidStore(f"{self!r}: the table is {status}; wait until it is gone, or name another one")
            if status == "UPDATING":
                return  # it serves calls meanwhile
            if self._clock.monotonic() >= ends:
                raise TransientError(f"{self!r}: the table is not ACTIVE after {_READY_SECONDS:.0f} s")
            self._clock.sleep(_LOOK_SECONDS)

    def _status(self) -> str | None:
        with self._errors("DescribeTable"):
            try:
                status: str = self._client.describe_table(TableName=self._name)["Table"]["TableStatus"]
                return status
            except self._client.exceptions.ResourceNotFoundException:
                return None

    def _create(self) -> None:
        with self._errors("CreateTable"):
            try:
                self._client.create_table(TableName=self._name, BillingMode="PAY_PER_REQUEST", **self._schema())
            except self._client.exceptions.ResourceInUseException:
                return  # another worker was faster

    def _errors(self, operation: str) -> AbstractContextManager[None]:
        return aws_errors(f"dynamodb:{operation}", repr(self), gone=InvalidStore)

    def _pages(self, **asked: Any) -> list[Item]:
        """All items of a query, or of the whole table where none is asked for."""
        client = self._ready()
        operation = "Query" if asked else "Scan"
        found: list[Item] = []
        start: dict[str, Any] = {}
        while True:
            with self._errors(operation):
                call = client.query if asked else client.scan
                answer = call(TableName=self._name, ConsistentRead=True, **asked, **start)
            found += answer["Items"]
            if not answer.get("LastEvaluatedKey"):
                return found
            start = {"ExclusiveStartKey": answer["LastEvaluatedKey"]}

    def _get(self, key: Item) -> Item | None:
        client = self._ready()
        with self._errors("GetItem"):
            found: Item | None = client.get_item(TableName=self._name, Key=key, ConsistentRead=True).get("Item")
            return found

    def _conditional(self, operation: str, **asked: Any) -> Item | None:
        """A conditional write: None, or, where the condition was not met, the item that stands ({}: none)."""
        client = self._ready()
        call = {"PutItem": client.put_item, "UpdateItem": client.update_item, "DeleteItem": client.delete_item}[
            operation
        ]
        with self._errors(operation):
            try:
                call(TableName=self._name, ReturnValuesOnConditionCheckFailure="ALL_OLD", **asked)
                return None
            except client.exceptions.ConditionalCheckFailedException as error:
                return dict(error.response.get("Item") or {})

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._name!r})"


class DynamoDBStore(DynamoDBTable):
    """Rows of many apps in one table: partition key `scope` (kind, app and stream), sort key `row`."""

    def scan(self, table: Table) -> list[Row]:
        """All rows: a consistent query of one partition."""
        found = self._pages(
            KeyConditionExpression="#s = :s", **_named(s="scope"), ExpressionAttributeValues={":s": _scope(table)}
        )
        return [_to_row(table, item) for item in found]

    def read(self, table: Table, key: str) -> Row | None:
        """One row."""
        item = self._get(_key(table, key))
        return None if item is None else _to_row(table, item)

    def write(self, table: Table, row: Row, expected: int | None) -> Row:
        """A PutItem with a condition."""
        written = row._replace(version=next_version(expected))
        standing = self._conditional("PutItem", Item=_to_item(table, written), **_condition(expected))
        if standing is not None:
            raise Conflict(row.key, expected, self._standing(table, row.key, standing))
        return written

    def delete(self, table: Table, key: str, expected: int) -> None:
        """A DeleteItem with a condition."""
        standing = self._conditional("DeleteItem", Key=_key(table, key), **_condition(expected))
        if standing is not None:
            raise Conflict(key, expected, self._standing(table, key, standing))

    def tables(self, kind: str) -> list[Table]:
        """The tables that have rows: scans all of them."""
        scopes = {item["scope"]["S"] for item in self._pages()}
        return sorted(table for table in (Table(*json.loads(scope)) for scope in scopes) if table.kind == kind)

    def _standing(self, table: Table, key: str, item: Item) -> Row | None:
        # Emulators may refuse without saying what stands.
        return _to_row(table, item) if item else self.read(table, key)

    def _schema(self) -> dict[str, Any]:
        names = (("scope", "HASH"), ("row", "RANGE"))
        return {
            "KeySchema": [{"AttributeName": name, "KeyType": kind} for name, kind in names],
            "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name, _ in names],
        }


def _named(**names: str) -> dict[str, Any]:
    return {"ExpressionAttributeNames": {f"#{short}": name for short, name in names.items()}}


def _condition(expected: int | None) -> dict[str, Any]:
    if expected is None:
        return {"ConditionExpression": "attribute_not_exists(#v)", **_named(v="version")}
    values = {":v": {"N": str(expected)}}
    return {"ConditionExpression": "#v = :v", **_named(v="version"), "ExpressionAttributeValues": values}


def _scope(table: Table) -> dict[str, str]:
    return {"S": json.dumps(list(table), ensure_ascii=False)}


def _key(table: Table, key: str) -> Item:
    return {"scope": _scope(table), "row": {"S": key}}


def _to_item(table: Table, row: Row) -> Item:
    item = {**_key(table, row.key), "version": {"N": str(row.version)}}
    if table.kind != LEASES:
        return {**item, "fields": {"S": json.dumps(dict(row.fields))}}
    fields = row.fields
    item |= {} if fields["owner"] is None else {"owner": {"S": fields["owner"]}}
    item |= {"checkpoint": {"S": fields["checkpoint"]}, "completed": {"BOOL": fields["completed"]}}
    item |= {"fence": {"N": str(fields["fence"])}, "parents": {"L": [{"S": parent} for parent in fields["parents"]]}}
    return {**item, "progress": {"S": json.dumps(dict(fields["progress"]))}}


def _to_row(table: Table, item: Mapping[str, Any]) -> Row:
    key, version = item["row"]["S"], int(item["version"]["N"])
    if table.kind != LEASES:
        return Row(key, json.loads(item["fields"]["S"]), version)
    fields = {
        "owner": item["owner"]["S"] if "owner" in item else None,
        "checkpoint": item["checkpoint"]["S"],
        "completed": item["completed"]["BOOL"],
        "fence": int(item["fence"]["N"]),
        "parents": [parent["S"] for parent in item["parents"]["L"]],
        "progress": json.loads(item["progress"]["S"]),
    }
    return Row(key, fields, version)
