"""The table API: DynamoDB's own operations, answered by the engine; streams, their ARNs and time to live are ours."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from streamiter.clock import microseconds
from streamiter.errors import MissingExtra
from streamiter.testing.http.refusal import Refusal, internal, invalid
from streamiter.testing.kinesis.service import KinesisService
from streamiter.testing.tables.changes import Change
from streamiter.testing.tables.checks import check_actions, check_batch, check_new_table
from streamiter.testing.tables.descriptions import bare_description, described
from streamiter.testing.tables.destinations import Destinations
from streamiter.testing.tables.engine import Engine
from streamiter.testing.tables.expressions import check_expressions, units
from streamiter.testing.tables.request_tokens import RequestTokens
from streamiter.testing.tables.specification import check_update, view_at_creation
from streamiter.testing.tables.statements import Statements
from streamiter.testing.tables.targets import by_names, table_name, targets
from streamiter.testing.tables.ttl import TimeToLive
from streamiter.testing.trouble.knobs import Knobs
from streamiter.testing.truth.records import TTL_IDENTITY
from streamiter.testing.truth.service import Service
from streamiter.testing.truth.writing import write

Body = dict[str, Any]
Serve = Callable[[Body, int], Body]

# Passed on as they are.
_WRITES = {"BatchWriteItem", "DeleteItem", "PutItem", "TransactWriteItems", "UpdateItem"}
_READS = {"BatchGetItem", "GetItem", "Query", "Scan", "TransactGetItems"}
_TAGS = {"ListTagsOfResource", "TagResource", "UntagResource"}
_ADMIN = {"DescribeContinuousBackups", "DescribeEndpoints", "DescribeLimits", "UpdateContinuousBackups"}
_PASSED = _WRITES | _READS | _TAGS | _ADMIN

# What moto's answers have beyond the service's.
_NOT_OURS = {"ConsumedCapacityUnits", "ItemCollectionMetrics"}

_PROTECTED = (
    "Resource cannot be deleted as it is currently protected against deletion. Disable deletion protection first."
)


class TableApi:
    """Takes bodies as JSON gave them; the caller holds the lock, and says what time it is."""

    def __init__(self, service: Service, knobs: Knobs, kinesis: KinesisService) -> None:
        self._service = service
        self._destinations = Destinations(service, kinesis)
        self._knobs = knobs
        self._engine: Engine | None = None
        self._ends: dict[str, TimeToLive] = {}
        self._tokens = RequestTokens()
        self._signed_region: str | None = None  # of the call under way
        self._own: dict[str, Serve] = {
            "CreateTable": self._create_table,
            "UpdateTable": self._update_table,
            "DeleteTable": self._delete_table,
            "DescribeTable": self._describe_table,
            "ListTables": self._list_tables,
            "UpdateTimeToLive": self._update_time_to_live,
            "DescribeTimeToLive": self._describe_time_to_live,
            "ExecuteStatement": lambda body, now_us: self._statements(now_us).execute(body),
            "BatchExecuteStatement": lambda body, now_us: self._statements(now_us).execute_batch(body),
            "ExecuteTransaction": lambda body, now_us: self._once(
                "ExecuteTransaction", body, now_us, lambda: self._statements(now_us).execute_transaction(body)
            ),
            **self._destinations.calls,
        }

    def knows(self, operation: str) -> bool:
        """Whether there is such an operation."""
        return operation in self._own or operation in _PASSED

    def answer(self, operation: str, body: Body, now_us: int, signed_region: str | None = None) -> bytes:
        """The body of the answer; `signed_region` is that of the client."""
        self._signed_region = signed_region
        body = by_names(body)
        serve = self._own.get(operation)
        return msgspec.json.encode(serve(body, now_us) if serve else self._pass(operation, body, now_us))

    # -- time to live

    @property
    def next_us(self) -> int | None:
        """When an item ends next, by its time to live."""
        return min((end.next_us for end in self._ends.values() if end.next_us is not None), default=None)

    def end_next(self, now_us: int) -> None:
        """The item that ends next is deleted, unless its end was moved meanwhile."""
        name, ends = min(
            ((name, ends) for name, ends in self._ends.items() if ends.next_us is not None),
            key=lambda named: named[1].next_us or 0,
        )
        key, end = ends.take()
        if ends.is_still(self.engine.item(name, key), end):
            self._publish(self.engine.delete(name, key), now_us, TTL_IDENTITY)

    # -- the engine

    @property
    def engine(self) -> Engine:
        """moto, from its first use on."""
        if self._engine is None:
            try:
                self._engine = Engine(self._service.account)
            except MissingExtra as error:
                raise internal(str(error)) from error
        return self._engine

    def _pass(self, operation: str, body: Body, now_us: int) -> Body:
        if operation == "BatchWriteItem":
            tables = self._service.tables
            body = body | {"RequestItems": {table_name(name): part for name, part in body["RequestItems"].items()}}
            keys = {name: tables[name].key_names for name in body["RequestItems"] if name in tables}
            check_batch(body["RequestItems"], keys)
        elif operation == "TransactWriteItems":
            check_actions(body["TransactItems"])
        if operation in _TAGS:
            body = body | {"ResourceArn": self.engine.arn(table_name(body["ResourceArn"]))}
        answer = self._once(operation, body, now_us, lambda: self._call(operation, body, now_us))
        unasked = {"ConsumedCapacity"} if body.get("ReturnConsumedCapacity", "NONE") == "NONE" else set()
        return {name: value for name, value in answer.items() if name not in unasked | _NOT_OURS}

    def _call(self, operation: str, body: Body, now_us: int) -> Body:
        self._mirror(body)
        for unit in units(body):
            check_expressions(unit)
            self.engine.check_conditions(unit)
        for table, request in targets(operation, body):
            if self.engine.has(table):
                self.engine.keys(table).check(request)
        answer, changes = self.engine.call(operation, body)
        self._publish(changes, now_us)
        return answer

    def _once(self, operation: str, body: Body, now_us: int, serve: Callable[[], Body]) -> Body:
        """The answer; that of the first time, if the request was sent again with its token."""
        answer = self._tokens.answer(operation, body, now_us)
        if answer is None:
            answer = serve()
            self._tokens.note(operation, body, answer, now_us)
        return answer

    def _statements(self, now_us: int) -> Statements:
        return Statements(self._keys_of, lambda operation, body: self._call(operation, body, now_us))

    def _keys_of(self, table: str) -> list[str]:
        if table not in self._service.tables:
            raise Refusal("ResourceNotFoundException", "Requested resource not found")
        return self._service.tables[table].key_names

    def _publish(self, changes: list[Change], now_us: int, identity: dict[str, str] | None = None) -> None:
        for change in changes:
            table = self._service.tables[change.table]
            if table.has_stream:
                write(self._service, table, change, now_us, self._knobs, identity)
            self._destinations.write(table, change, now_us, identity)
            if change.table in self._ends:
                self._ends[change.table].follow(change, now_us)

    def _mirror(self, body: Mapping[str, Any]) -> None:
        """Makes a table that a test made by hand in the engine, too, at the first call that uses its items."""
        named = {body.get("TableName"), *body.get("RequestItems", ())}
        named |= {inner.get("TableName") for action in body.get("TransactItems", ()) for inner in action.values()}
        for name in named & self._service.tables.keys():
            if not self.engine.has(name):
                keys = self._service.tables[name].key_schema
                attributes = [{"AttributeName": key["AttributeName"], "AttributeType": "S"} for key in keys]
                request = {"TableName": name, "KeySchema": keys, "AttributeDefinitions": attributes}
                self.engine.call("CreateTable", {**request, "BillingMode": "PAY_PER_REQUEST"})

    # -- tables

    def _create_table(self, body: Body, now_us: int) -> Body:
        check_new_table(body)
        view = view_at_creation(body)
        name = body["TableName"]
        if name in self._service.tables:
            raise Refusal("ResourceInUseException", f"Table already exists: {name}")
        answer, _ = self.engine.call("CreateTable", _without_stream(body))
        table = self._service.create_table(name, body["KeySchema"], now_us, self._signed_region)
        if view is not None:
            self._service.enable_by_itself(table, view, now_us)
        return {"TableDescription": described(answer["TableDescription"], table, "CREATING")}

    def _update_table(self, body: Body, now_us: int) -> Body:
        table = self._service.table(body["TableName"])
        check_update(body, table.name, has_stream=table.has_stream)
        self._mirror(body)
        answer, _ = self.engine.call("UpdateTable", _without_stream(body))
        specification = body.get("StreamSpecification")
        if specification is not None and specification["StreamEnabled"]:
            self._service.enable_by_itself(table, specification["StreamViewType"], now_us)
        elif specification is not None:
            table.latest.disable(now_us, microseconds(self._knobs.disabling))
        return {"TableDescription": described(answer["TableDescription"], table, "UPDATING")}

    def _delete_table(self, body: Body, now_us: int) -> Body:
        table = self._service.table(body["TableName"])
        self._mirror(body)
        if self.engine.call("DescribeTable", body)[0]["Table"].get("DeletionProtectionEnabled"):
            raise invalid(_PROTECTED)
        answer, _ = self.engine.call("DeleteTable", body)
        told = described(answer["TableDescription"], table, "DELETING")
        self._service.drop_table(table, now_us)
        self._destinations.forget(table)
        self._ends.pop(table.name, None)
        return {"TableDescription": told}

    def _describe_table(self, body: Body, now_us: int) -> Body:
        table = self._service.table(body["TableName"])
        if self._engine is None or not self._engine.has(table.name):
            return {"Table": described(bare_description(table), table)}
        answer, _ = self.engine.call("DescribeTable", body)
        return {"Table": described(answer["Table"], table)}

    def _list_tables(self, body: Body, now_us: int) -> Body:
        start = body.get("ExclusiveStartTableName")
        names = [name for name in sorted(self._service.tables) if start is None or name > start]
        page = names[: body.get("Limit") or 100]
        return {"TableNames": page} | ({"LastEvaluatedTableName": page[-1]} if len(page) < len(names) else {})

    # -- time to live, as it is set

    def _update_time_to_live(self, body: Body, now_us: int) -> Body:
        table = self._service.table(body["TableName"])
        self._mirror(body)
        ends = self._ends.setdefault(table.name, TimeToLive())
        if ends.update(body["TimeToLiveSpecification"]):
            for item in self.engine.items(table.name):
                ends.watch({name: item[name] for name in table.key_names}, item, now_us)
        return {"TimeToLiveSpecification": body["TimeToLiveSpecification"]}

    def _describe_time_to_live(self, body: Body, now_us: int) -> Body:
        table = self._service.table(body["TableName"])
        return {"TimeToLiveDescription": self._ends.get(table.name, TimeToLive()).describe()}


def _without_stream(body: Body) -> Body:
    return {name: value for name, value in body.items() if name != "StreamSpecification"}
