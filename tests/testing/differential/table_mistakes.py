"""Mistakes that clients make with tables: one call each, whose refusal is compared."""

from __future__ import annotations

from typing import Any

from tests.testing.differential.table_calls import TableCall

KEY = {"p": {"S": "a"}, "c": {"N": "1"}}
OTHER = {"p": {"S": "a"}, "c": {"N": "2"}}
ONE = {":v": {"N": "1"}}
TWO = {":v": {"N": "1"}, ":w": {"N": "2"}}
MUCH = {"S": "x" * 410_000}
DEEP: Any = {"N": "1"}
for _ in range(40):
    DEEP = {"L": [DEEP]}


def _call(operation: str) -> Any:
    return lambda label, **body: TableCall(f"{operation}: {label}", operation, body)


_get, _put, _update, _delete = map(_call, ("get_item", "put_item", "update_item", "delete_item"))
_query, _scan, _reads, _writes = map(_call, ("query", "scan", "batch_get_item", "batch_write_item"))
_transact, _gets = map(_call, ("transact_write_items", "transact_get_items"))
_P = {":p": {"S": "a"}}
_LEGACY = {"AttributeValueList": [{"N": "1"}], "ComparisonOperator": "EQ"}


def _on(action: str, key: Any = KEY, **more: Any) -> dict[str, Any]:
    return {action: {"TableName": "$table", "Item" if action == "Put" else "Key": key, **more}}


_FAILS = _on("ConditionCheck", ConditionExpression="s = :v", ExpressionAttributeValues=ONE)

TABLE_MISTAKES = [
    _get("half a key", Key={"p": {"S": "a"}}),
    _get("a key of another type", Key={**KEY, "c": {"S": "1"}}),
    _get("an empty key", Key={**KEY, "p": {"S": ""}}),
    _get("more than a key", Key={**KEY, "q": {"S": "q"}}),
    _get("both kinds of projection", Key=KEY, AttributesToGet=["n"], ProjectionExpression="s"),
    _get("an attribute twice", Key=KEY, AttributesToGet=["n", "n"]),
    _get("overlapping paths", Key=KEY, ProjectionExpression="m, m.y"),
    _get("a reserved word", Key=KEY, ProjectionExpression="name"),
    _get("an unused name", Key=KEY, ProjectionExpression="n", ExpressionAttributeNames={"#n": "n"}),
    _get("names without an expression", Key=KEY, ExpressionAttributeNames={"#n": "n"}),
    _get("an empty projection", Key=KEY, ProjectionExpression=""),
    _put("no key", Item={"p": {"S": "a"}}),
    _put("an index key of another type", Item={**KEY, "g": {"N": "1"}}),
    _put("an empty set", Item={**KEY, "x": {"SS": []}}),
    _put("a set with duplicates", Item={**KEY, "x": {"NS": ["1", "1.0"]}}),
    _put("a number of 39 digits", Item={**KEY, "x": {"N": "1" * 39}}),
    _put("a number too large", Item={**KEY, "x": {"N": "1e126"}}),
    _put("no number", Item={**KEY, "x": {"N": "one"}}),
    _put("an item too large", Item={**KEY, "x": MUCH}),
    _put("nesting too deep", Item={**KEY, "x": DEEP}),
    _put("new values returned", Item=KEY, ReturnValues="ALL_NEW"),
    _put("both kinds of condition", Item=KEY, Expected={"n": {"Exists": False}}, ConditionExpression="n = n"),
    _put("a condition on itself", Item=KEY, ConditionExpression="n = n"),
    _put("Exists without a value", Item=KEY, Expected={"n": {"Exists": True}}),
    _put("a value that must not exist", Item=KEY, Expected={"n": {"Exists": False, "Value": {"N": "1"}}}),
    _put("an operator without a condition", Item=KEY, ConditionalOperator="AND"),
    _put("values without an expression", Item=KEY, ExpressionAttributeValues=ONE),
    _delete("updated values returned", Key=KEY, ReturnValues="UPDATED_OLD"),
    _delete("an unused value", Key=KEY, ConditionExpression="attribute_exists(p)", ExpressionAttributeValues=ONE),
    _delete("an unknown function", Key=KEY, ConditionExpression="exists(p)"),
    _delete("a function with too many operands", Key=KEY, ConditionExpression="attribute_exists(p, c)"),
    _update("a key changed", Key=KEY, UpdateExpression="SET p = :v", ExpressionAttributeValues=ONE),
    _update("a clause twice", Key=KEY, UpdateExpression="SET n = :v SET s = :v", ExpressionAttributeValues=ONE),
    _update("a path twice", Key=KEY, UpdateExpression="SET n = :v REMOVE n", ExpressionAttributeValues=ONE),
    _update("no clause", Key=KEY, UpdateExpression="n = :v", ExpressionAttributeValues=ONE),
    _update("a text added", Key=KEY, UpdateExpression="ADD n :v", ExpressionAttributeValues={":v": {"S": "a"}}),
    _update("a number deleted", Key=KEY, UpdateExpression="DELETE n :v", ExpressionAttributeValues=ONE),
    _update("a text plus one", Key=KEY, UpdateExpression="SET n = s + :v", ExpressionAttributeValues=ONE),
    _update("an attribute that is not there", Key=KEY, UpdateExpression="SET n = nothing"),
    _update("a place that is not there", Key=KEY, UpdateExpression="SET q.w = :v", ExpressionAttributeValues=ONE),
    _update("an index key of another type", Key=KEY, UpdateExpression="SET g = :v", ExpressionAttributeValues=ONE),
    _update("both kinds", Key=KEY, UpdateExpression="REMOVE n", AttributeUpdates={"n": {"Action": "DELETE"}}),
    _update("PUT without a value", Key=KEY, AttributeUpdates={"n": {"Action": "PUT"}}),
    _update("ADD of a text", Key=KEY, AttributeUpdates={"n": {"Action": "ADD", "Value": {"S": "a"}}}),
    _query("no condition"),
    _query("no partition", KeyConditionExpression="c = :v", ExpressionAttributeValues=ONE),
    _query("partitions between", KeyConditionExpression="p > :p", ExpressionAttributeValues=_P),
    _query("OR", KeyConditionExpression="p = :p OR c = :v", ExpressionAttributeValues={**_P, **ONE}),
    _query("an attribute that is no key", KeyConditionExpression="p = :p AND n = :v", ExpressionAttributeValues={**_P, **ONE}),
    _query("a key of another type", KeyConditionExpression="p = :v", ExpressionAttributeValues=ONE),
    _query("a key filtered", KeyConditionExpression="p = :p", FilterExpression="c = :v",
           ExpressionAttributeValues={**_P, **ONE}),
    _query("an unknown index", IndexName="nothing", KeyConditionExpression="p = :p", ExpressionAttributeValues=_P),
    _query("consistent over a global index", IndexName="by-g", ConsistentRead=True,
           KeyConditionExpression="g = :p", ExpressionAttributeValues=_P),
    _query("all of an index of keys", IndexName="by-g", Select="ALL_ATTRIBUTES",
           KeyConditionExpression="g = :p", ExpressionAttributeValues=_P),
    _query("a start elsewhere", KeyConditionExpression="p = :p", ExpressionAttributeValues=_P,
           ExclusiveStartKey={**KEY, "p": {"S": "z"}}),
    _query("a legacy operator", KeyConditions={"p": {**_LEGACY, "ComparisonOperator": "NE"}}),
    _scan("a segment alone", Segment=0),
    _scan("a total alone", TotalSegments=2),
    _scan("a segment beyond the total", Segment=2, TotalSegments=2),
    _scan("limit 0", Limit=0),
    _scan("specific, and nothing named", Select="SPECIFIC_ATTRIBUTES"),
    _scan("counted and projected", Select="COUNT", ProjectionExpression="n"),
    _scan("projected attributes of a table", Select="ALL_PROJECTED_ATTRIBUTES"),
    _scan("a start that is no key", ExclusiveStartKey={"p": {"S": "a"}}),
    _scan("too many arguments", ScanFilter={"n": {**_LEGACY, "AttributeValueList": [{"N": "1"}, {"N": "2"}]}}),
    _scan("bounds of two types", FilterExpression="n BETWEEN :v AND :w",
          ExpressionAttributeValues={":v": {"N": "1"}, ":w": {"S": "2"}}),
    _scan("bounds the wrong way round", FilterExpression="n BETWEEN :w AND :v", ExpressionAttributeValues=TWO),
    _scan("redundant parentheses", FilterExpression="((n = :v))", ExpressionAttributeValues=ONE),
    _scan("an unknown type", FilterExpression="attribute_type(n, :v)", ExpressionAttributeValues={":v": {"S": "TEXT"}}),
    _scan("an expression too long", FilterExpression=" OR ".join(["n = :v"] * 500), ExpressionAttributeValues=ONE),
    _reads("nothing", RequestItems={}),
    _reads("no keys", RequestItems={"$table": {"Keys": []}}),
    _reads("a key twice", RequestItems={"$table": {"Keys": [KEY, {**KEY, "c": {"N": "1.0"}}]}}),
    _reads("101 keys", RequestItems={"$table": {"Keys": [{**KEY, "c": {"N": str(n)}} for n in range(101)]}}),
    _reads("an unknown table", RequestItems={"nothing": {"Keys": [KEY]}}),
    _writes("nothing", RequestItems={}),
    _writes("a key twice", RequestItems={"$table": [{"PutRequest": {"Item": KEY}}, {"DeleteRequest": {"Key": KEY}}]}),
    _writes("26 writes", RequestItems={"$table": [{"DeleteRequest": {"Key": {**KEY, "c": {"N": str(n)}}}} for n in range(26)]}),
    _transact("an item twice", TransactItems=[_on("Put"), _on("Delete")]),
    _transact("a check that fails", TransactItems=[_on("Put", OTHER), _FAILS]),
    _transact("an update that does not fit", TransactItems=[_on("Update", OTHER, UpdateExpression="SET q = nothing")]),
    _transact("nothing", TransactItems=[]),
    _transact("half a key", TransactItems=[_on("Delete", {"p": {"S": "a"}})]),
    _transact("a key of another type", TransactItems=[_on("Put"), _on("Delete", {**KEY, "c": {"S": "2"}})]),
    _transact("no key", TransactItems=[_on("Put", {"p": {"S": "a"}})]),
    _transact("an index key of another type", TransactItems=[_on("Put", {**KEY, "g": {"N": "1"}})]),
    _transact("a key changed", TransactItems=[_on("Update", UpdateExpression="REMOVE c")]),
    _transact("an unknown table", TransactItems=[{"Delete": {"TableName": "nothing", "Key": KEY}}]),
    _gets("half a key", TransactItems=[_on("Get", {"p": {"S": "a"}})]),
    _gets("an unknown table", TransactItems=[{"Get": {"TableName": "nothing", "Key": KEY}}]),
]  # fmt: skip
