"""Altering: what UpdateTable asks for, checked as the service does, then done to a table's schema and settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from streamiter.testing.http.refusal import Refusal, invalid, wrong_value
from streamiter.testing.tables.beside.global_tables import changed_replicas
from streamiter.testing.tables.creation import (
    MOST_GLOBAL,
    check_encryption,
    check_index_billing,
    check_served,
    keep_index,
    read_index,
)
from streamiter.testing.tables.schema import Index
from streamiter.testing.tables.table import StoredTable
from streamiter.testing.tables.throughput import check_bounds, check_changes, check_on_demand, check_warm, keep

Body = Mapping[str, Any]

_SETTINGS = ("DeletionProtectionEnabled", "TableClass", "SSESpecification")


class Alteration:
    """One UpdateTable: `check` refuses it, or leaves everything ready for `apply`."""

    def __init__(self, body: Body, table: StoredTable) -> None:
        self._body = body
        self._table = table
        self._created: Index | None = None
        self._dropped: str | None = None
        self._kinds = dict(table.schema.kinds)
        self._replicas = table.replicas
        self.replica_statuses: dict[str, str] = {}  # of those that are made, changed or dropped

    @property
    def making(self) -> str | None:
        """The index that is made."""
        return None if self._created is None else self._created.name

    @property
    def dropping(self) -> str | None:
        """The index that goes."""
        return self._dropped

    def check(self, now_seconds: float) -> None:
        """Refuses what cannot be done; nothing is changed yet."""
        check_served(self._body)
        self._replicas, self.replica_statuses = changed_replicas(self._table, self._body.get("ReplicaUpdates", []))
        for definition in self._body.get("AttributeDefinitions", ()):
            name, kind = definition["AttributeName"], definition["AttributeType"]
            if self._kinds.setdefault(name, kind) != kind:
                raise wrong_value(f"The type of {name} is {self._kinds[name]} already: it cannot become {kind}")
        self._check_billing()
        updates = self._body.get("GlobalSecondaryIndexUpdates", ())
        for update in updates:
            for asked in update.values():
                check_bounds(asked.get("ProvisionedThroughput"), asked["IndexName"])
        made = [update for update in updates if update.keys() & {"Create", "Delete"}]
        if any(len(update) != 1 for update in updates):
            raise wrong_value("Only one of Create, Update or Delete can be specified in GlobalSecondaryIndexUpdate")
        if len(made) > 1:
            raise Refusal(
                "LimitExceededException",
                "Subscriber limit exceeded: Only 1 online index can be created or deleted simultaneously per table",
            )
        for update in updates:
            self._check_index(update)
        self._now_seconds = now_seconds

    def apply(self) -> None:
        """Does it."""
        settings, schema = self._table.settings, self._table.schema
        self._table.replicas = self._replicas
        settings |= {name: self._body[name] for name in _SETTINGS if name in self._body}
        if "TableClass" in self._body:
            settings["TableClassSince"] = self._now_seconds
        mode = self._body.get("BillingMode")
        if mode is not None and mode != settings.get("BillingMode"):
            settings |= {"BillingMode": mode, "OnDemandSince": self._now_seconds}
        keep(settings, self._body, self._mode, self._now_seconds)
        updates = self._body.get("GlobalSecondaryIndexUpdates", ())
        asked = {update["Update"]["IndexName"]: update["Update"] for update in updates if "Update" in update}
        for index in schema.indexes.values():
            if index.is_global:
                keep(index.more, asked.get(index.name, {}), self._mode, self._now_seconds)
        if self._dropped is not None:
            del schema.indexes[self._dropped]
            self._table.items.drop_index(self._dropped)
        if self._created is not None:
            schema.indexes[self._created.name] = self._created
        schema.kinds.clear()
        schema.kinds.update(self._kinds)
        schema.forget_unused()
        if self._created is not None:
            self._table.items.add_index(self._created)

    # -- inside

    @property
    def _mode_now(self) -> str:
        return str(self._table.settings.get("BillingMode", "PROVISIONED"))

    @property
    def _mode(self) -> str:
        """The billing mode that there will be."""
        return str(self._body.get("BillingMode", self._mode_now))

    def _check_billing(self) -> None:
        now, mode = self._mode_now, self._mode
        asked = self._body.get("ProvisionedThroughput")
        check_bounds(asked)
        if mode == "PAY_PER_REQUEST" and asked is not None:
            raise wrong_value(
                "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST"
            )
        if mode == "PROVISIONED" and now != mode and asked is None:
            raise wrong_value(
                "ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED"
            )
        if mode == "PROVISIONED" and now != mode:
            self._check_indexes_have_units()
        if not self._body.get("GlobalSecondaryIndexUpdates"):
            check_changes(self._table.settings, asked)
        check_on_demand(self._body, mode)
        check_warm(self._body, self._table.settings, mode)
        check_encryption(self._body)

    def _check_indexes_have_units(self) -> None:
        updates = self._body.get("GlobalSecondaryIndexUpdates", ())
        told = {asked["IndexName"] for update in updates for asked in update.values()}
        for index in self._table.schema.indexes.values():
            if index.is_global and index.name not in told:
                raise wrong_value(f"ProvisionedThroughput is not specified for index: {index.name}")

    def _check_index(self, update: Body) -> None:
        [(kind, asked)] = update.items()
        indexes = self._table.schema.indexes
        name = asked["IndexName"]
        known = name in indexes and indexes[name].is_global
        mode = self._mode
        if kind == "Create":
            if name in indexes:
                raise invalid("Attempting to create an index which already exists")
            if sum(index.is_global for index in indexes.values()) >= MOST_GLOBAL:
                raise Refusal(
                    "LimitExceededException",
                    f"GlobalSecondaryIndex count exceeds the per-table limit of {MOST_GLOBAL}",
                )
            self._created = read_index(asked, self._kinds, is_global=True)
            check_index_billing(self._created, mode)
            keep_index(self._created, mode)
        elif not known:
            raise Refusal("ResourceNotFoundException", "Requested resource not found")
        elif kind == "Delete":
            self._dropped = name
        elif mode == "PAY_PER_REQUEST" and "ProvisionedThroughput" in asked:
            raise wrong_value(
                f"Neither ReadCapacityUnits nor WriteCapacityUnits can be specified for index: {name} "
                "when BillingMode is PAY_PER_REQUEST"
            )
        else:
            self._check_index_units(asked, indexes[name], mode)

    def _check_index_units(self, asked: Body, index: Index, mode: str) -> None:
        what = f"index {index.name}"
        if mode == self._mode_now:
            check_changes(index.more, asked.get("ProvisionedThroughput"), what)
        check_on_demand(asked, mode, what)
        check_warm(asked, index.more, mode, what)
