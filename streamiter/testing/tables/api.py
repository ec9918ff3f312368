"""The table API: DynamoDB's own operations on tables; those on items, tags and the account have files of their own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from streamiter.clock import SECOND_US, microseconds
from streamiter.testing.http.refusal import Refusal, invalid
from streamiter.testing.kinesis.service import KinesisService
from streamiter.testing.partiql.statement import Keys
from streamiter.testing.partiql.statements import Statements
from streamiter.testing.tables.altering import Alteration
from streamiter.testing.tables.beside.account import Account
from streamiter.testing.tables.beside.backups import TableBackups
from streamiter.testing.tables.beside.bulk import BulkOperations
from streamiter.testing.tables.beside.global_tables import GlobalTables
from streamiter.testing.tables.beside.insights import Insights
from streamiter.testing.tables.beside.policies import Policies, check_policy
from streamiter.testing.tables.beside.scaling import Scaling
from streamiter.testing.tables.beside.tags import Tags, read_tags
from streamiter.testing.tables.beside.transfers import Transfers
from streamiter.testing.tables.calls import ItemCalls
from streamiter.testing.tables.changes import Change
from streamiter.testing.tables.creation import in_use, read_new_table
from streamiter.testing.tables.descriptions import described, dropped_index, key_schema
from streamiter.testing.tables.destinations import Destinations
from streamiter.testing.tables.request_tokens import RequestTokens
from streamiter.testing.tables.schema import Schema
from streamiter.testing.tables.specification import check_update, view_at_creation
from streamiter.testing.tables.table import StoredTable
from streamiter.testing.tables.targets import by_names, check_names, table_name
from streamiter.testing.tables.writes import Outcome, commit
from streamiter.testing.trouble.knobs import Knobs
from streamiter.testing.truth.records import TTL_IDENTITY
from streamiter.testing.truth.service import REGION, Service
from streamiter.testing.truth.writing import write

Body = dict[str, Any]
Serve = Callable[[Body, int], Body]

MOST_LISTED = 100
_WITH_TOKENS = ("TransactWriteItems", "ExecuteTransaction")
_PROTECTED = (
    "Resource cannot be deleted as it is currently protected against deletion. Disable deletion protection first."
)

_encode = msgspec.json.Encoder().encode


class TableApi:
    """Takes bodies as JSON gave them; the caller holds the lock, and says what time it is."""

    def __init__(self, service: Service, knobs: Knobs, kinesis: KinesisService) -> None:
        self._service = service
        self._destinations = Destinations(service, kinesis)
        self._knobs = knobs
        self._stored: dict[str, StoredTable] = {}
        self._tokens = RequestTokens()
        self._signed_region: str | None = None  # of the call under way
        self._items = ItemCalls(self._existing, self._publish, self._leaves)
        self._policies = Policies(self._find)
        groups = GlobalTables(self._find, self._all, service.account)
        self._own: dict[str, Serve] = {
            "CreateTable": self._create_table,
            "UpdateTable": self._update_table,
            "DeleteTable": self._delete_table,
            "DescribeTable": lambda body, now_us: {"Table": described(self._named(body), now_us=now_us)},
            "ListTables": self._list_tables,
            "UpdateTimeToLive": self._update_time_to_live,
            "DescribeTimeToLive": lambda body, _: {"TimeToLiveDescription": self._named(body).ends.describe()},
            "ExecuteStatement": lambda body, now_us: self._statements(now_us).execute(body),
            "BatchExecuteStatement": lambda body, now_us: self._statements(now_us).execute_batch(body),
            "ExecuteTransaction": lambda body, now_us: self._statements(now_us).execute_transaction(body),
            **self._items.calls,
            **Tags(self._find).calls,
            **Account(self._region).calls,
            **groups.calls,
            **Scaling(self._named, groups.group).calls,
            **TableBackups(self._find, self._make).calls,
            **Insights(self._named, self._all).calls,
            **self._policies.calls,
            **Transfers(self._find, self._arn_of).calls,
            **BulkOperations(self._named).calls,
            **self._destinations.calls,
        }

    def knows(self, operation: str) -> bool:
        """Whether there is such an operation."""
        return operation in self._own

    def answer(self, operation: str, body: Body, now_us: int, signed_region: str | None = None) -> bytes:
        """The body of the answer; `signed_region` is that of the client."""
        self._signed_region = signed_region
        body = by_names(body)
        if operation != "CreateTable":
            check_names(body)
        if operation not in _WITH_TOKENS:
            return _encode(self._own[operation](body, now_us))
        # The answer of the first time, if a request was sent again with its token.
        answer = self._tokens.answer(operation, body, now_us)
        if answer is None:
            answer = self._own[operation](body, now_us)
            self._tokens.note(operation, body, answer, now_us)
        elif operation == "TransactWriteItems":
            answer = self._items.told_again(body, answer)
        return _encode(answer)

    # -- time to live

    @property
    def next_us(self) -> int | None:
        """When an item ends next, by its time to live."""
        return min((next_us for _, next_us in self._endings()), default=None)

    def end_next(self, now_us: int) -> None:
        """The item that ends next is deleted, unless its end was moved meanwhile."""
        table, _ = min(self._endings(), key=lambda ending: ending[1])
        key, end = table.ends.take()
        item = table.items.get(key)
        if item is not None and table.ends.is_still(item, end):
            change = commit(table, Outcome(table.items.packed_key(key), item, None))
            self._publish([change] if change else [], now_us, TTL_IDENTITY)

    def _endings(self) -> list[tuple[StoredTable, int]]:
        return [(table, table.ends.next_us) for table in self._stored.values() if table.ends.next_us is not None]

    # -- tables, as they are found

    def _find(self, name: str) -> StoredTable | None:
        """The table of a name or ARN. One that a test made by hand is stored from its first use on."""
        truth = self._service.tables.get(table_name(name))
        if truth is None:
            return None
        if truth.name not in self._stored:
            schema = Schema(tuple(truth.key_names), dict.fromkeys(truth.key_names, "S"))
            self._stored[truth.name] = StoredTable(truth, schema, {"BillingMode": "PAY_PER_REQUEST"})
        return self._stored[truth.name]

    def _existing(self, name: str) -> StoredTable:
        """That, for calls on items."""
        table = self._find(name)
        if table is None:
            raise Refusal("ResourceNotFoundException", "Requested resource not found")
        return table

    def _named(self, body: Mapping[str, Any]) -> StoredTable:
        """That, for calls on tables."""
        truth = self._service.table(body["TableName"])
        return self._existing(truth.name)

    def _leaves(self, operation: str, key: bytes) -> bool:
        """Whether the weather leaves a part of a batch undone."""
        weather = self._knobs.weather
        return weather is not None and weather.leaves(operation, key)

    def _all(self) -> list[StoredTable]:
        return [self._existing(name) for name in sorted(self._service.tables)]

    def _arn_of(self, name: str) -> str:
        return self._service.arn_of(name, self._signed_region)

    def _region(self) -> str:
        return self._service.region or self._signed_region or REGION

    def _statements(self, now_us: int) -> Statements:
        return Statements(
            self._keys_of,
            lambda operation, body: self._items.calls[operation](body, now_us),
            self._leaves,
        )

    def _keys_of(self, name: str, index: str | None) -> Keys:
        schema = self._existing(name).schema
        if index is None:
            return Keys(schema.keys)
        return Keys(schema.index(index).keys, schema.index(index).hashes)

    def _publish(self, changes: list[Change], now_us: int, identity: dict[str, str] | None = None) -> None:
        for change in changes:
            table = self._stored[change.table]
            if table.truth.has_stream:
                write(self._service, table.truth, change, now_us, self._knobs, identity)
            self._destinations.write(table.truth, change, now_us, identity)
            table.ends.follow(change, now_us)
            table.recovery.note(change, now_us)

    # -- tables, as they change

    def _create_table(self, body: Body, now_us: int) -> Body:
        new = read_new_table(body)
        view = view_at_creation(body)
        tags = read_tags(body.get("Tags", ()), {})
        name = body["TableName"]
        if name in self._service.tables:
            raise in_use(name)
        if "ResourcePolicy" in body:
            check_policy(body["ResourcePolicy"])
        table = self._make(name, new.schema, new.settings, now_us)
        truth, table.tags = table.truth, tags
        if "ResourcePolicy" in body:
            self._policies.put(table, truth.arn, body["ResourcePolicy"], now_us)
        if view is not None:
            self._service.enable_by_itself(truth, view, now_us)
        return {"TableDescription": described(table, "CREATING")}

    def _make(self, name: str, schema: Schema, settings: Body, now_us: int) -> StoredTable:
        truth = self._service.create_table(name, key_schema(schema.keys), now_us, self._signed_region)
        self._stored[name] = StoredTable(truth, schema, settings)
        return self._stored[name]

    def _update_table(self, body: Body, now_us: int) -> Body:
        table = self._named(body)
        check_update(body, table.name, has_stream=table.truth.has_stream)
        alteration = Alteration(body, table)
        alteration.check(now_us / SECOND_US)
        dropped = dropped_index(table, alteration.dropping)
        alteration.apply()
        specification = body.get("StreamSpecification")
        if specification is not None and specification["StreamEnabled"]:
            self._service.enable_by_itself(table.truth, specification["StreamViewType"], now_us)
        elif specification is not None:
            table.truth.latest.disable(now_us, microseconds(self._knobs.disabling))
        told = described(table, "UPDATING", making=alteration.making, replicas=alteration.replica_statuses)
        if dropped is not None:
            told.setdefault("GlobalSecondaryIndexes", []).append(dropped)
        return {"TableDescription": told}

    def _delete_table(self, body: Body, now_us: int) -> Body:
        table = self._named(body)
        if table.settings.get("DeletionProtectionEnabled"):
            raise invalid(_PROTECTED)
        told = described(table, "DELETING")
        self._service.drop_table(table.truth, now_us)
        self._destinations.forget(table.truth)
        del self._stored[table.name]
        return {"TableDescription": told}

    def _list_tables(self, body: Body, now_us: int) -> Body:
        start = body.get("ExclusiveStartTableName")
        names = [name for name in sorted(self._service.tables) if start is None or name > start]
        page = names[: body.get("Limit") or MOST_LISTED]
        return {"TableNames": page} | ({"LastEvaluatedTableName": page[-1]} if len(page) < len(names) else {})

    def _update_time_to_live(self, body: Body, now_us: int) -> Body:
        table = self._named(body)
        if table.ends.update(body["TimeToLiveSpecification"]):
            for item in table.items:
                table.ends.watch(table.schema.key_of(item), item, now_us)
        return {"TimeToLiveSpecification": body["TimeToLiveSpecification"]}
