"""StreamSpecification: what CreateTable and UpdateTable may ask of a table's stream, in the service's words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from streamiter.testing.http.refusal import invalid, wrong_value
from streamiter.testing.truth.records import ViewType

_NOTHING_TO_UPDATE = (
    "At least one of ProvisionedThroughput, BillingMode, UpdateStreamEnabled, GlobalSecondaryIndexUpdates, "
    "SSESpecification, ReplicaUpdates, MultiAccountReplicaReady, ReplicaTransitRoleArn, MultiRegionConsistency, "
    "DeletionProtectionEnabled, OnDemandThroughput, WarmThroughput or TableClass is required"
)


def view_at_creation(body: Mapping[str, Any]) -> ViewType | None:
    """The view type of the stream that a new table is to have; None: it is to have no stream."""
    specification = body.get("StreamSpecification")
    if specification is None:
        return None
    is_enabled, view = specification["StreamEnabled"], specification.get("StreamViewType")
    if is_enabled and not view:
        raise wrong_value("Table is being created with a stream enabled, UpdateViewType is required")
    if not is_enabled and view:
        raise wrong_value("Table is being created with a stream disabled, UpdateViewType should not be specified")
    return cast("ViewType", view) if is_enabled else None


def check_update(body: Mapping[str, Any], table: str, *, has_stream: bool) -> None:
    """Refuses an update of the stream that the service refuses, and one of nothing at all."""
    asked = {name for name, value in body.items() if value not in ([], {})}
    if not asked - {"TableName", "AttributeDefinitions"}:
        raise invalid(_NOTHING_TO_UPDATE)
    specification = body.get("StreamSpecification")
    if specification is None:
        return
    is_enabled, view = specification["StreamEnabled"], specification.get("StreamViewType")
    if is_enabled and not view:
        raise wrong_value("If stream is being enabled then UpdateViewType is required")
    if not is_enabled and view:
        raise wrong_value("If stream is being disabled, then UpdateViewType must not be specified")
    if "ProvisionedThroughput" in body:
        raise wrong_value("You cannot modify stream status while updating table IOPS")
    if any(update.keys() & {"Create", "Delete"} for update in body.get("GlobalSecondaryIndexUpdates", ())):
        raise wrong_value("You cannot create or delete index while changing stream status")
    if is_enabled and has_stream:
        raise invalid(f"Table already has an enabled stream: TableName: {table}")
    if not is_enabled and not has_stream:
        raise invalid(f"Table has no stream to disable: TableName: {table}")
