"""The known differences: which service differs where; docs/simulator.md says why, and which AWS document decides it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple


class Known(NamedTuple):
    """A difference that is theirs. `amend` makes their outcome what it should be; it changes nothing else."""

    service: str
    title: str  # as docs/simulator.md tells it
    steps: str  # which steps it shows in: a regular expression for labels
    amend: Callable[[Any, Any], Any]  # their outcome, and ours


def _error(name: str, status: int = 400) -> Callable[[Any, Any], Any]:
    wanted = {"status": status, "error": name}
    return lambda theirs, ours: wanted if ours == wanted else theirs


def _without_needless(theirs: Any, ours: Any) -> Any:
    if not isinstance(theirs, list) or not isinstance(ours, list):
        return theirs
    if any("NewImage" in record and "OldImage" in record for record in theirs):
        return [record for record in theirs if record.get("NewImage") != record.get("OldImage")]
    # The view hides an image: what is needless can only be told by its not being among ours.
    left, kept = list(ours), []
    for record in theirs:
        if left and record == left[0]:
            kept.append(left.pop(0))
    return theirs if left else kept


def _with(**right: Any) -> Callable[[Any, Any], Any]:
    """Their members as they should be."""

    def amend(theirs: Any, ours: Any) -> Any:
        if isinstance(theirs, dict) and isinstance(ours, dict) and "error" not in theirs:
            return theirs | {name: value for name, value in right.items() if ours.get(name) == value}
        return theirs

    return amend


def _ours(_: Any, ours: Any) -> Any:
    return ours


INVALID = _error("ValidationException")
UNKNOWN = _error("ResourceNotFoundException")
MINISTACK = "ministack"

KNOWN: list[Known] = [
    Known(MINISTACK, "ministack writes a record for a write that changes nothing", "records.*", _without_needless),
    Known(MINISTACK, "ministack makes an item of an update that only removes", "remove from no item", _ours),
    Known(MINISTACK, "ministack takes any Limit", ".*: limit .*", INVALID),
    Known(MINISTACK, "ministack looks for a stream whose ARN is none", "describe: (malformed|short) ARN", INVALID),
    Known(MINISTACK, "ministack takes any ExclusiveStartShardId", "describe: short start", INVALID),
    Known(MINISTACK, "ministack looks for a sequence number of any length", "iterator: short number", INVALID),
    Known(
        MINISTACK,
        "ministack says trimmed of a number that the shard never had",
        "iterator: a number before .*",
        INVALID,
    ),
    Known(MINISTACK, "ministack ignores a SequenceNumber that is not asked for", "iterator: needless number", INVALID),
    Known(MINISTACK, "ministack opens any shard, whatever its id", "iterator: unknown shard", UNKNOWN),
    Known(MINISTACK, "ministack opens a shard without a ShardId", "iterator: no shard", INVALID),
    Known(MINISTACK, "ministack takes any StreamSpecification", "(update|create): .*|disable again", INVALID),
    Known(MINISTACK, "ministack says that SizeBytes is 0", "iterators of all types.*", _with(sized=True)),
    Known(MINISTACK, "ministack describes a disabled specification", "the table's description, .*", _with(spec=None)),
    Known(
        MINISTACK,
        "ministack forgets a stream that is disabled",
        "the stream's description, disabled|records, disabled|records after a write, disabled|records, dropped",
        _ours,
    ),
    Known(MINISTACK, "ministack forgets the old stream when another is enabled", "enable again", _ours),
    Known(MINISTACK, "ministack gives the old stream's records in the new one", "records of the new stream", _ours),
    Known(MINISTACK, "ministack takes any TimeToLiveSpecification", "time to live .*", INVALID),
    Known(MINISTACK, "ministack writes no record for a delete by time to live", "records by time to live", _ours),
]


def differences(service: str, label: str, ours: Any, theirs: Any) -> tuple[Any, list[str]]:
    """Their outcome as amended by what is known, and the titles of what was needed for that."""
    used = []
    for known in KNOWN:
        if theirs != ours and known.service == service and re.fullmatch(known.steps, label):
            amended = known.amend(theirs, ours)
            if amended != theirs:
                used.append(known.title)
                theirs = amended
    return theirs, used
