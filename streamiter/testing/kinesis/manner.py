"""Manner: how Kinesis checks a request's form, as far as it does that in another way than DynamoDB.

The words of wrong types, the order of problems, and what is required besides the description's members: those of the
service itself, as users report them and as Kinesalite's author wrote them down from it.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from streamiter.testing.http.descriptions import description
from streamiter.testing.http.json_types import base64_fault, check_time, is_of_kind
from streamiter.testing.http.refusal import Refusal
from streamiter.testing.http.shapes import Manner

_LONGEST = (1 << 31) - 1  # number; greater ones count as this
_MOST_SHOWN = 100  # characters
_NUMBER, _BOOLEAN = "com.amazon.coral.value.json.numbers.TruncatingBigNumber", "java.lang.Boolean"
_STRING = "java.lang.String"
_EXPECTED = {"list": "Expected list or null", "map": "Expected map or null", "structure": "Expected null"}
_TARGETS = {
    "string": "an String",
    "boolean": "an Boolean",
    "integer": "an Integer",
    "long": "an Long",
    "blob": "a Blob",
    "timestamp": "milliseconds since epoch",
}
_STREAM = ("StreamName", "StreamARN", "StreamId")
_OWN_WORDS = "ListShardsInput"  # ListShards has words of its own for a stream that is not named

_ORDER = {
    "AddTagsToStreamInput": ("Tags", "StreamName"),
    "CreateStreamInput": ("ShardCount", "StreamName"),
    "DecreaseStreamRetentionPeriodInput": ("RetentionPeriodHours", "StreamName"),
    "DescribeStreamInput": ("Limit", "ExclusiveStartShardId", "StreamName"),
    "GetRecordsInput": ("Limit", "ShardIterator"),
    "GetShardIteratorInput": ("ShardId", "ShardIteratorType", "StartingSequenceNumber", "StreamName"),
    "IncreaseStreamRetentionPeriodInput": ("RetentionPeriodHours", "StreamName"),
    "ListTagsForStreamInput": ("Limit", "ExclusiveStartTagKey", "StreamName"),
    "MergeShardsInput": ("ShardToMerge", "AdjacentShardToMerge", "StreamName"),
    "PutRecordInput": ("SequenceNumberForOrdering", "PartitionKey", "ExplicitHashKey", "Data", "StreamName"),
    "PutRecordsInput": ("Records", "StreamName"),
    "PutRecordsRequestEntry": ("PartitionKey", "ExplicitHashKey", "Data"),
    "RemoveTagsFromStreamInput": ("TagKeys", "StreamName"),
    "SplitShardInput": ("NewStartingHashKey", "StreamName", "ShardToSplit"),
    "UpdateShardCountInput": ("ScalingType", "StreamName", "TargetShardCount"),
}


def _check_type(value: Any, kind: str) -> Any:
    if not is_of_kind(value, kind):
        raise Refusal("SerializationException", _complaint(value, kind))
    check_time(value, kind)
    if kind == "blob":
        _check_base64(value)
    return int(max(-_LONGEST, min(value, _LONGEST))) if kind in ("integer", "long") else value


def _complaint(value: object, kind: str) -> str:
    if isinstance(value, list):
        return "Start of list found where not expected"
    if isinstance(value, dict):
        return "Start of structure or map found where not expected."
    if kind in _EXPECTED:
        return _EXPECTED[kind]
    if kind == "boolean" and isinstance(value, str):
        return f"'{value[:_MOST_SHOWN].upper()}' can not be converted to an Boolean"
    given = _BOOLEAN if isinstance(value, bool) else _STRING if isinstance(value, str) else _NUMBER
    return f"{'null' if value is None else f'class {given}'} can not be converted to {_TARGETS.get(kind, 'an Double')}"


def _check_base64(text: str) -> None:
    why = base64_fault(text)
    if why is not None:
        shown = text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}..."
        raise Refusal("SerializationException", f"'{shown}' can not be converted to a Blob: {why}")


def _required(shape: str, value: Mapping[str, Any]) -> tuple[str, ...]:
    """A stream has a name, where no ARN says which it is; a stream whose shards the caller plans has a count of them."""
    if shape == "CreateStreamInput":
        mode = value.get("StreamModeDetails")
        is_on_demand = isinstance(mode, Mapping) and mode.get("StreamMode") == "ON_DEMAND"
        return () if is_on_demand else ("ShardCount",)
    if shape not in _naming_streams() or any(value.get(member) is not None for member in _STREAM):
        return ()
    return ("StreamName",)


@functools.cache
def _naming_streams() -> frozenset[str]:
    known = description("kinesis")
    inputs = {operation["input"]["shape"] for operation in known["operations"].values()}
    return frozenset(name for name in inputs if "StreamName" in known["shapes"][name]["members"]) - {_OWN_WORDS}


KINESIS = Manner(_check_type, forms_first=True, sums_up=True, order=_ORDER, required=_required)
