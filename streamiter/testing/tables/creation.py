"""Creation: what CreateTable asks for, checked as the service does, as the schema and the settings of a table."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from streamiter.testing.http.refusal import Refusal, broken_rule, broken_rules, invalid, wrong_value
from streamiter.testing.tables.schema import Index, Schema
from streamiter.testing.tables.throughput import MEMBERS, check_bounds, check_on_demand, check_warm, keep

Body = Mapping[str, Any]

MOST_GLOBAL = 20
MOST_LOCAL = 5
MOST_INCLUDED = 100
MOST_KEYS = 4  # attributes of each part of a global index's key
_KEYS = ("HASH", "RANGE")
_PLACES = ("first", "second")
NAME = re.compile(r"[a-zA-Z0-9_.-]+")
_KEPT = ("DeletionProtectionEnabled", "TableClass", "SSESpecification")
_TOO_MANY = {
    "LocalSecondaryIndexes": "Number of LocalSecondaryIndexes exceeds",
    "GlobalSecondaryIndexes": "GlobalSecondaryIndex count exceeds the",
}
_UNSERVED = {
    "GlobalTableSettingsReplicationMode": "global tables of several accounts",
    "GlobalTableSourceArn": "global tables of several accounts",
    "GlobalTableWitnessUpdates": "consistency among regions",
    "MultiRegionConsistency": "consistency among regions",
    "VectorIndexes": "vector indexes",
    "VectorIndexOverride": "vector indexes",
    "VectorIndexUpdates": "vector indexes",
}


class NewTable(NamedTuple):
    """A table to be made."""

    schema: Schema
    settings: dict[str, Any]


def check_name(name: str) -> None:
    """Refuses what is no table's name."""
    if not NAME.fullmatch(name):
        raise broken_rule(name, "tableName", f"satisfy regular expression pattern: {NAME.pattern}")
    if not 3 <= len(name) <= 255:
        raise invalid("TableName must be at least 3 characters long and at most 255 characters long")


def check_served(body: Body) -> None:
    """Refuses what the simulator does not have: it would be worse to leave it out in silence."""
    for member, what in _UNSERVED.items():
        if member in body:
            raise invalid(f"The simulator has no {what}: {member} is not served")


def read_new_table(body: Body) -> NewTable:
    """The table that a CreateTable asks for."""
    check_name(body["TableName"])
    check_served(body)
    missing = [name for name in ("attributeDefinitions", "keySchema") if not body.get(name[0].upper() + name[1:])]
    if missing:
        raise broken_rules([("null", name, "not be null") for name in missing])
    _check_billing(body)
    kinds = _kinds(body["AttributeDefinitions"])
    keys = _keys(body["KeySchema"])
    _check_defined(keys, kinds)
    indexes = _indexes(body, keys, kinds)
    _check_all_used(kinds, keys, indexes)
    by_name = {index.name: index for index in indexes}
    return NewTable(Schema(keys, kinds, by_name), _settings(body))


def _settings(body: Body) -> dict[str, Any]:
    settings = {name: body[name] for name in _KEPT if name in body}
    settings["BillingMode"] = body.get("BillingMode", "PROVISIONED")
    keep(settings, body, settings["BillingMode"])
    return settings


def _check_billing(body: Body) -> None:
    has_units = "ProvisionedThroughput" in body
    check_bounds(body.get("ProvisionedThroughput"))
    if body.get("BillingMode", "PROVISIONED") == "PAY_PER_REQUEST":
        if has_units:
            raise wrong_value(
                "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST"
            )
    elif not has_units:
        raise wrong_value(
            "ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED"
        )
    mode = body.get("BillingMode", "PROVISIONED")
    check_on_demand(body, mode)
    check_warm(body, None, mode)
    check_encryption(body)


def check_encryption(body: Body) -> None:
    """Refuses an encryption that there is not: with a key of one's own it is KMS, and says so."""
    asked = body.get("SSESpecification", {})
    if asked.get("SSEType", "KMS") != "KMS":
        raise wrong_value("The only valid SSEType is KMS")
    if "KMSMasterKeyId" in asked and "SSEType" not in asked:
        raise wrong_value("SSEType KMS is required if KMSMasterKeyId is specified")


def _kinds(definitions: Sequence[Body]) -> dict[str, str]:
    kinds: dict[str, str] = {}
    for definition in definitions:
        name = definition["AttributeName"]
        if name in kinds:
            raise wrong_value(f"Duplicate AttributeName in AttributeDefinitions: {name}")
        kinds[name] = definition["AttributeType"]
    return kinds


def _keys(elements: Sequence[Body]) -> tuple[str, ...]:
    if len(elements) > len(_KEYS):
        raise broken_rule("[KeySchemaElement]", "keySchema", "have length less than or equal to 2")
    for place, (element, kind) in enumerate(zip(elements, _KEYS, strict=False)):
        if element["KeyType"] != kind:
            raise invalid(f"Invalid KeySchema: The {_PLACES[place]} KeySchemaElement is not a {kind} key type")
    names = tuple(element["AttributeName"] for element in elements)
    if len(set(names)) < len(names):
        raise invalid("Both the Hash Key and the Range Key element in the KeySchema have the same name")
    return names


def _several_keys(elements: Sequence[Body]) -> tuple[tuple[str, ...], int]:
    """The key of a global index, and how many of its attributes make up the partition key: each part has up to four."""
    kinds = [element["KeyType"] for element in elements]
    hashes = kinds.count("HASH")
    if len(elements) <= len(_KEYS) and hashes <= 1:
        return _keys(elements), 1
    if kinds != sorted(kinds):
        raise invalid("Invalid KeySchema: The HASH key elements come before the RANGE key elements")
    if not 1 <= hashes <= MOST_KEYS or len(kinds) - hashes > MOST_KEYS:
        raise invalid(f"Invalid KeySchema: An index has 1 to {MOST_KEYS} HASH and up to {MOST_KEYS} RANGE key elements")
    names = tuple(element["AttributeName"] for element in elements)
    if len(set(names)) < len(names):
        raise invalid("Invalid KeySchema: Some key elements have the same name")
    return names, hashes


def _check_defined(keys: Sequence[str], kinds: Mapping[str, str]) -> None:
    if any(name not in kinds for name in keys):
        told = f"Keys: [{', '.join(keys)}], AttributeDefinitions: [{', '.join(kinds)}]"
        what = "Some index key attributes are not defined in AttributeDefinitions. "
        raise wrong_value(f"{what}{told}")


def _check_all_used(kinds: Mapping[str, str], keys: Sequence[str], indexes: Sequence[Index]) -> None:
    used = dict.fromkeys((*keys, *(name for index in indexes for name in index.keys)))
    if used.keys() == kinds.keys():
        return
    if indexes:
        raise wrong_value(
            f"Some AttributeDefinitions are not used. AttributeDefinitions: [{', '.join(kinds)}], "
            f"keys used: [{', '.join(used)}]"
        )
    raise wrong_value(
        "Number of attributes in KeySchema does not exactly match number of attributes defined in AttributeDefinitions"
    )


# -- indexes


def _indexes(body: Body, keys: tuple[str, ...], kinds: Mapping[str, str]) -> list[Index]:
    found: list[Index] = []
    for member, is_global, most in (
        ("LocalSecondaryIndexes", False, MOST_LOCAL),
        ("GlobalSecondaryIndexes", True, MOST_GLOBAL),
    ):
        asked = body.get(member)
        if asked is None:
            continue
        if not asked:
            raise wrong_value(f"List of {member} is empty")
        if not is_global and len(keys) < 2:
            raise wrong_value(
                "Table KeySchema does not have a range key, which is required when specifying a LocalSecondaryIndex"
            )
        for one in asked:
            index = read_index(one, kinds, is_global=is_global)
            if not is_global:
                _check_local(index, keys)
            if any(index.name == other.name for other in found):
                raise wrong_value(f"Duplicate index name: {index.name}")
            found.append(index)
        if len(asked) > most:
            raise wrong_value(f"{_TOO_MANY[member]} per-table limit of {most}")
    mode = body.get("BillingMode", "PROVISIONED")
    for index in found:
        if index.is_global:
            _check_units(index, mode)
            keep_index(index, mode)
    _check_included(found)
    return found


def read_index(asked: Body, kinds: Mapping[str, str], *, is_global: bool) -> Index:
    """An index to be made."""
    keys, hashes = _several_keys(asked["KeySchema"]) if is_global else (_keys(asked["KeySchema"]), 1)
    _check_defined(keys, kinds)
    projection = dict(asked["Projection"])
    kind, included = projection.get("ProjectionType"), projection.get("NonKeyAttributes")
    if kind is None:
        raise wrong_value("Unknown ProjectionType: null")
    if kind == "INCLUDE" and included is None:
        raise wrong_value("ProjectionType is INCLUDE, but NonKeyAttributes is not specified")
    if kind != "INCLUDE" and included is not None:
        raise wrong_value(f"ProjectionType is {kind}, but NonKeyAttributes is specified")
    if included is not None and len(set(included)) < len(included):
        raise wrong_value("Duplicate value in NonKeyAttributes")
    more = {name: asked[name] for name in MEMBERS if name in asked}
    return Index(asked["IndexName"], keys, is_global, projection, tuple(kinds[name] for name in keys), more, hashes)


def _check_local(index: Index, keys: tuple[str, ...]) -> None:
    if len(index.keys) < 2:
        raise wrong_value(f"Index KeySchema does not have a range key for index: {index.name}")
    if index.keys[0] != keys[0]:
        raise wrong_value(
            f"Index KeySchema does not have the same leading hash key as table KeySchema for index: {index.name}. "
            f"index hash key: {index.keys[0]}, table hash key: {keys[0]}"
        )


def _check_units(index: Index, mode: str) -> None:
    """A global index of a new table has throughput where the table has; UpdateTable says the same in other words."""
    check_bounds(index.more.get("ProvisionedThroughput"), index.name)
    has_units = "ProvisionedThroughput" in index.more
    if mode == "PAY_PER_REQUEST" and has_units:
        raise wrong_value(
            f"ProvisionedThroughput should not be specified for index: {index.name} when BillingMode is PAY_PER_REQUEST"
        )
    if mode == "PROVISIONED" and not has_units:
        raise wrong_value(f"ProvisionedThroughput is not specified for index: {index.name}")


def keep_index(index: Index, mode: str) -> None:
    """The throughput of a new global index, checked and as it is kept."""
    what, asked = f"index {index.name}", dict(index.more)
    check_on_demand(asked, mode, what)
    check_warm(asked, None, mode, what)
    index.more.clear()
    keep(index.more, asked, mode)


def check_index_billing(index: Index, mode: str) -> None:
    """A global index that a table gets later has throughput where the table has."""
    has_units = "ProvisionedThroughput" in index.more
    if mode == "PAY_PER_REQUEST" and has_units:
        raise wrong_value(
            "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified for index: "
            f"{index.name} when BillingMode is PAY_PER_REQUEST"
        )
    if mode == "PROVISIONED" and not has_units:
        raise wrong_value(
            "ReadCapacityUnits and WriteCapacityUnits must both be specified for index: "
            f"{index.name} when BillingMode is PROVISIONED"
        )


def _check_included(indexes: Sequence[Index]) -> None:
    count = sum(len(index.projection.get("NonKeyAttributes", ())) for index in indexes)
    if count > MOST_INCLUDED:
        raise wrong_value(
            f"Total number of NonKeyAttributes of all indexes exceeds the limit of {MOST_INCLUDED}: {count}"
        )


def in_use(name: str) -> Refusal:
    """There is a table of this name."""
    return Refusal("ResourceInUseException", f"Table already exists: {name}")
