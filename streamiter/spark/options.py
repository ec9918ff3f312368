"""Options: what a user writes with `.option(...)`, checked, as one frozen value."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from streamiter.clock import floor_second, microseconds
from streamiter.errors import InvalidOption
from streamiter.stream.starting import read_position
from streamiter.token import load_token

LATEST = "latest"
TRIM_HORIZON = "trim_horizon"

_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


@dataclass(frozen=True)
class Options:
    """How a stream is to be read. It is handed to executors: no secrets, nothing that is open."""

    format: str
    subject: str  # what names the stream: a table, a stream's name or ARN
    starting_position: str = TRIM_HORIZON  # this, LATEST, a time in microseconds as digits, or a token's text
    ending_position: str = LATEST
    max_records: int | None = None
    max_bytes: int | None = None
    max_partitions: int | None = None
    slots: int | None = None  # not the user's: how many tasks the session runs at once, where `register` could tell
    lateness: float | Literal["auto"] | None = "auto"
    listing_seconds: float | None = None  # None: as the source says
    fails_on_data_loss: bool = True
    endpoint_url: str | None = None
    region: str | None = None
    role_arn: str | None = None
    extras: tuple[tuple[str, str], ...] = ()  # options of the format's own, as its source takes them

    @property
    def has_limit(self) -> bool:
        """Whether a micro-batch has a size at most."""
        return self.max_records is not None or self.max_bytes is not None


def parse_options(
    format_name: str, subjects: tuple[str, ...], told: Mapping[str, str], extras: tuple[str, ...] = ()
) -> Options:
    """The options of a reader; `subjects` are the names of those that say which stream is meant: one of them."""
    by_name = {name.lower(): (name, value) for name, value in told.items()}
    known = {name.lower(): name for name in (*subjects, *extras, *_PARSERS)}
    for name, (written, _) in by_name.items():
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            meant = f"; did you mean {known[near[0]]}?" if near else "."
            names = ", ".join(known.values())
            raise InvalidOption(f"{format_name} knows no option {written!r}{meant} It knows: {names}")
    named = [name for name in subjects if name.lower() in by_name]
    if len(named) != 1:
        wanted = " or ".join(f"option({name!r}, ...)" for name in subjects)
        raise InvalidOption(f"{format_name}: say which stream is meant, with {wanted}{', not both' if named else ''}")
    found: dict[str, Any] = {}
    for name, (member, parse) in _PARSERS.items():
        if name.lower() in by_name:
            value = str(by_name[name.lower()][1]).strip()
            try:
                found[member] = parse(value)
            except ValueError as error:
                raise InvalidOption(f"option {name}: {error}") from None
    subject = str(by_name[named[0].lower()][1]).strip()
    if not subject:
        raise InvalidOption(f"option {named[0]} is empty")
    own = tuple((name, str(by_name[name.lower()][1]).strip()) for name in extras if name.lower() in by_name)
    return Options(format_name, subject, **found, extras=own)


def _position(value: str) -> str:
    found = read_position(value)
    if isinstance(found, str):
        return found
    if isinstance(found, dict):
        load_token(found)
        return json.dumps(found, sort_keys=True)
    return str(max(0, floor_second(microseconds(found.timestamp()))))  # no record is older than 1970


def _count(value: str) -> int:
    if not re.fullmatch(r"[0-9]{1,18}", value) or int(value) < 1:
        raise ValueError(f"takes a whole number from 1 up, not {value!r}")
    return int(value)


def _bytes(value: str) -> int:
    match = re.fullmatch(r"([0-9]{1,15})\s*([kmg]?)i?b?", value.lower())
    if match is None or int(match[1]) < 1:
        raise ValueError(f"takes a number of bytes such as 1048576 or 64m, not {value!r}")
    return int(match[1]) * _UNITS[match[2]]


def _seconds(value: str) -> float:
    match = re.fullmatch(r"([0-9]{1,9}(?:\.[0-9]{1,6})?)\s*(s|seconds?)?", value.lower())
    if match is None:
        raise ValueError(f"takes a number of seconds, not {value!r}")
    return float(match[1])


def _lateness(value: str) -> float | Literal["auto"] | None:
    if value.lower() == "auto":
        return "auto"
    return None if value.lower() == "none" else _seconds(value)


def _interval(value: str) -> float:
    seconds = _seconds(value)
    if seconds < 0.1:
        raise ValueError(f"takes a number of seconds from 0.1 up, not {value!r}")
    return seconds


def _flag(value: str) -> bool:
    if value.lower() not in ("true", "false"):
        raise ValueError(f"takes true or false, not {value!r}")
    return value.lower() == "true"


def _text(value: str) -> str:
    if not value:
        raise ValueError("is empty")
    return value


def _role(value: str) -> str:
    if not re.fullmatch(r"arn:[\w-]+:iam::\d+:role/\S+", value):
        raise ValueError(f"takes the ARN of a role (arn:aws:iam::ACCOUNT:role/NAME), not {value!r}")
    return value


_PARSERS: dict[str, tuple[str, Callable[[str], Any]]] = {
    "startingPosition": ("starting_position", _position),
    "endingPosition": ("ending_position", _position),
    "maxRecordsPerTrigger": ("max_records", _count),
    "maxBytesPerTrigger": ("max_bytes", _bytes),
    "maxPartitions": ("max_partitions", _count),
    "lateness": ("lateness", _lateness),
    "shardDiscoveryInterval": ("listing_seconds", _interval),
    "failOnDataLoss": ("fails_on_data_loss", _flag),
    "endpointUrl": ("endpoint_url", _text),
    "region": ("region", _text),
    "roleArn": ("role_arn", _role),
}
