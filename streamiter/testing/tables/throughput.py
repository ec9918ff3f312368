"""Throughput: what a table, or an index of it, may give and take in a second: as it is asked for, kept and told.

A table's settings and what else an index has keep it in the same three members; here they are read and written.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from streamiter.testing.http.refusal import invalid, wrong_value

Body = Mapping[str, Any]
Kept = dict[str, Any]

MOST_UNITS = 10**12
NO_THROUGHPUT = {"ReadCapacityUnits": 0, "WriteCapacityUnits": 0}
MEMBERS = ("ProvisionedThroughput", "OnDemandThroughput", "WarmThroughput")
_ON_DEMAND = {"ReadUnitsPerSecond": 12000, "WriteUnitsPerSecond": 4000}  # what a new table on demand can take at once
_WARM_OF = {"ReadUnitsPerSecond": "ReadCapacityUnits", "WriteUnitsPerSecond": "WriteCapacityUnits"}
_NO_CEILING = -1
_DAY_SECONDS = 86400


def check_bounds(throughput: Body | None, index: str | None = None) -> None:
    """Refuses more units than the service can count."""
    for name, units in (throughput or {}).items():
        if units > MOST_UNITS:
            where = f" for index {index}" if index else ""
            raise invalid(f"Given value {units} for {name} is out of bounds{where}")


def check_changes(now: Body, asked: Body | None, what: str = "table") -> None:
    """Refuses provisioned units that are what they are already; `what` is the table, or `index NAME`."""
    current = now.get("ProvisionedThroughput", NO_THROUGHPUT)
    if asked is None or any(asked[name] != current[name] for name in NO_THROUGHPUT):
        return
    of = what.partition(" ")[0]
    told = " ".join(
        f"Current {name} provisioned for the {of}: {current[name]}. Requested {name}: {asked[name]}."
        for name in NO_THROUGHPUT
    )
    raise invalid(
        f"The provisioned throughput for the {what} will not change. The requested value equals the current "
        f"value. {told} Refer to the Amazon DynamoDB Developer Guide for current limits and how to request "
        "higher limits."
    )


def check_on_demand(asked: Body, mode: str, what: str = "table") -> None:
    """Refuses ceilings that are none: -1 takes one away. Only tables on demand have them."""
    for name, units in asked.get("OnDemandThroughput", {}).items():
        if mode == "PROVISIONED":
            raise wrong_value(f"{name} for OnDemandThroughput can be specified for a {what} on demand only")
        if units < 1 and units != _NO_CEILING:
            raise wrong_value(f"Requested {name} for OnDemandThroughput for {what} is outside of valid range")


def check_warm(asked: Body, now: Body | None, mode: str, what: str = "table") -> None:
    """Refuses less than the table is warm for already, or will be by its other settings: it never cools down."""
    least = _at_once(asked if "ProvisionedThroughput" in asked else now or {}, mode)
    for name, units in asked.get("WarmThroughput", {}).items():
        told = f"Requested {name} for WarmThroughput for {what} is lower than"
        if now is not None and units < now.get("WarmThroughput", {}).get(name, 0):
            raise wrong_value(f"{told} current WarmThroughput, decreasing WarmThroughput is not supported")
        if units < least[name]:
            of = (
                f"{_WARM_OF[name]} of ProvisionedThroughput"
                if mode == "PROVISIONED"
                else "initial throughput for OnDemand"
            )
            raise wrong_value(f"{told} {of}")


def keep(kept: Kept, asked: Body, mode: str, now_seconds: float | None = None) -> None:
    """Takes over what is asked for. Where something is changed, `now_seconds` is when; else it is new."""
    if mode == "PAY_PER_REQUEST":
        kept["ProvisionedThroughput"] = NO_THROUGHPUT
    elif "ProvisionedThroughput" in asked:
        kept["ProvisionedThroughput"] = _changed(
            kept.get("ProvisionedThroughput", NO_THROUGHPUT), asked["ProvisionedThroughput"], now_seconds
        )
    ceilings = {**kept.pop("OnDemandThroughput", {}), **asked.get("OnDemandThroughput", {})}
    ceilings = {name: units for name, units in ceilings.items() if units != _NO_CEILING}
    if ceilings and mode == "PAY_PER_REQUEST":
        kept["OnDemandThroughput"] = ceilings
    warm = (kept.get("WarmThroughput", {}), asked.get("WarmThroughput", {}), _at_once(kept, mode))
    kept["WarmThroughput"] = {name: max(one.get(name, 0) for one in warm) for name in _WARM_OF}


def told(kept: Body, now_seconds: float | None = None) -> Kept:
    """The members of a description."""
    units = {"NumberOfDecreasesToday": 0, **kept.get("ProvisionedThroughput", NO_THROUGHPUT)}
    if now_seconds is not None and not _is_same_day(units.get("LastDecreaseDateTime"), now_seconds):
        units["NumberOfDecreasesToday"] = 0
    answer = {"ProvisionedThroughput": units, "WarmThroughput": {**_ON_DEMAND, "Status": "ACTIVE"}}
    answer["WarmThroughput"] |= kept.get("WarmThroughput", {})
    if "OnDemandThroughput" in kept:
        answer["OnDemandThroughput"] = kept["OnDemandThroughput"]
    return answer


def _changed(now: Body, asked: Body, now_seconds: float | None) -> Kept:
    """Provisioned units as they become, with when they last rose and fell."""
    new = {**now, **asked}
    if now_seconds is None or not now["ReadCapacityUnits"]:
        return {name: new[name] for name in NO_THROUGHPUT}
    if any(asked[name] > now[name] for name in NO_THROUGHPUT):
        new["LastIncreaseDateTime"] = now_seconds
    if any(asked[name] < now[name] for name in NO_THROUGHPUT):
        is_again = _is_same_day(now.get("LastDecreaseDateTime"), now_seconds)
        new["NumberOfDecreasesToday"] = 1 + (now["NumberOfDecreasesToday"] if is_again else 0)
        new["LastDecreaseDateTime"] = now_seconds
    return new


def _at_once(kept: Body, mode: str) -> Mapping[str, int]:
    """What can be taken at once, whatever was asked for."""
    if mode == "PAY_PER_REQUEST":
        return _ON_DEMAND
    units = kept.get("ProvisionedThroughput", NO_THROUGHPUT)
    return {name: units[of] for name, of in _WARM_OF.items()}


def _is_same_day(then_seconds: float | None, now_seconds: float) -> bool:
    return then_seconds is not None and then_seconds // _DAY_SECONDS == now_seconds // _DAY_SECONDS
