"""Comparing Kinesis: the same calls at two services, and why they differ where they do."""

from __future__ import annotations

import re
from typing import Any

from tests.testing.differential.compare import Findings
from tests.testing.differential.kinesis_calls import calls, outcome
from tests.testing.differential.known import MINISTACK, Known
from tests.testing.differential.services import Service


def _refused_by_us(*names: str) -> Any:
    """Where we refuse so, whatever they do."""
    wanted = [{"status": 400, "error": name} for name in names]
    return lambda theirs, ours: ours if ours in wanted else theirs


def _without_none(theirs: Any, ours: Any) -> Any:
    """Their records without the encryption that they do not have."""
    if not isinstance(theirs, dict) or "Records" not in theirs:
        return theirs
    records = [{key: value for key, value in row.items() if (key, value) != _NO_KEY} for row in theirs["Records"]]
    return theirs | {"Records": records}


def _summed_up(theirs: Any, ours: Any) -> Any:
    """Their summary with what it leaves out."""
    lacking = {name: value for name, value in ours[_SUMMARY].items() if name in _NEWER}
    return {_SUMMARY: theirs[_SUMMARY] | lacking}


def _creating(theirs: Any, ours: Any) -> Any:
    return {"Consumer": theirs["Consumer"] | {"ConsumerStatus": "CREATING"}}


def _unserved(theirs: Any, ours: Any) -> Any:
    return ours if theirs == {"status": 400, "error": "InvalidAction"} and "error" not in ours else theirs


def _kept(theirs: Any, ours: Any) -> Any:
    """Where they list fewer shards, or do not find one, what we tell."""
    if isinstance(theirs, dict) and "Shards" in theirs:
        return ours if len(theirs["Shards"]) < len(ours["Shards"]) else theirs
    return ours if theirs == {"status": 400, "error": "ResourceNotFoundException"} and "Records" in ours else theirs


def _ours(_: Any, ours: Any) -> Any:
    return ours


_SUMMARY = "StreamDescriptionSummary"
_NEWER = ("MaxRecordSizeInKiB", "KeyId", "EnhancedMonitoring")
_NO_KEY = ("EncryptionType", "NONE")
_FORBIDDEN = _refused_by_us("ValidationException")

KINESIS_KNOWN: list[Known] = [
    Known(MINISTACK, "ministack leaves out of a summary what was set", "summary.*", _summed_up),
    Known(MINISTACK, "ministack's token of ListShards does not say its stream", "the next page of shards", _ours),
    Known(MINISTACK, "ministack tells of each record that it is not encrypted", ".*records.*", _without_none),
    Known(MINISTACK, "ministack's consumers are ACTIVE at once", "register", _creating),
    Known(MINISTACK, "ministack lacks operations of Kinesis", "policy|tag a resource|limits|mode", _unserved),
    Known(
        MINISTACK,
        "ministack takes what Kinesis' description forbids",
        "(create|put|put many|tags|metrics|encrypt|register|scale|iterator|list|describe|shards): .*",
        _FORBIDDEN,
    ),
    Known(
        MINISTACK,
        "ministack takes any tags, tokens, hash keys and counts of shards",
        "create: too many shards|put: a hash key beyond|tags: .*|consumers: a bad token|scale: too far",
        _refused_by_us("InvalidArgumentException", "LimitExceededException"),
    ),
    Known(
        MINISTACK,
        "ministack looks for a stream or a consumer that nobody named",
        "shards: (a bad token|nothing)|consumer: nothing",
        _refused_by_us("InvalidArgumentException"),
    ),
    Known(
        MINISTACK,
        "ministack opens a shard at any sequence number",
        "iterator: (no|a needless|a foreign) number",
        _refused_by_us("InvalidArgumentException"),
    ),
    Known(
        MINISTACK,
        "ministack says ValidationException of what is only out of place",
        "split: .*|retain: .*|iterator: no time",
        _refused_by_us("InvalidArgumentException"),
    ),
    Known(
        MINISTACK,
        "ministack calls an iterator that is none expired",
        "records: (a bad|no) iterator",
        _refused_by_us("InvalidArgumentException", "ValidationException"),
    ),
    Known(
        MINISTACK,
        "ministack forgets shards that were split, merged or scaled",
        "shards after .*|records of a closed shard",
        _kept,
    ),
]


def compare_kinesis(ours: Service, theirs: Service, *, seed: int, count: int) -> Findings:
    """A stream's life at each service."""
    found = Findings(theirs.name)
    for call in calls(seed, count):
        mine, other = (outcome(service, f"stream{seed}", call) for service in (ours, theirs))
        found.compared += 1
        for known in KINESIS_KNOWN:
            if mine != other and known.service == theirs.name and re.fullmatch(known.steps, call.label):
                amended: Any = known.amend(other, mine)
                if amended != other:
                    found.explained[known.title] += 1
                    other = amended
        if mine != other:
            found.unexplained.append(f"{call.label}: {mine} and {other}")
        if ":" in call.label and "error" not in mine:
            found.unexplained.append(f"{call.label}: taken, as if it were no mistake: {mine}")
    return found
