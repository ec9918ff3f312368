"""Injected faults: calls that are to fail, how, and how often."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal, get_args

import botocore.session

from streamiter.testing.http import refusal
from streamiter.testing.http.refusal import Refusal
from streamiter.testing.names import unknown

MOST_SECONDS = 3600

Kind = Literal[
    # the service refuses
    "throttle",
    "limit",
    "throughput",
    "request_limit",
    "failure",
    "500",
    "503",
    "gone",
    "expired",
    "trimmed",
    "access_denied",
    "expired_token",
    "unknown_key",
    "validation",
    # the way there and back
    "cut",  # half of the answer, then the connection ends
    "reset",  # no answer at all, the connection ends
    "slow",  # the answer comes after `seconds`
    "hang",  # no answer until it is released, then the answer
    "bad_crc",
    "bad_json",
    "no_body",  # `{}`, with a checksum that fits
    "html",  # 502 and a page of a proxy's
]

REFUSALS: dict[str, Callable[[], Refusal]] = {
    "throttle": refusal.throttled,
    "limit": refusal.limit_exceeded,
    "throughput": refusal.throughput_exceeded,
    "request_limit": refusal.request_limit_exceeded,
    "failure": refusal.failure,
    "500": refusal.internal,
    "503": refusal.unavailable,
    "gone": lambda: refusal.not_found("Shard not found"),
    "expired": refusal.expired,
    "trimmed": refusal.trimmed,
    "access_denied": lambda: Refusal(
        "AccessDeniedException", "User: arn:aws:iam::000000000000:user/test is not authorized to perform this action"
    ),
    "expired_token": lambda: Refusal("ExpiredTokenException", "The security token included in the request is expired"),
    "unknown_key": lambda: Refusal(
        "UnrecognizedClientException", "The security token included in the request is invalid."
    ),
    "validation": lambda: refusal.invalid("The request is not valid"),
}


# What readers call; every other operation of the three services can be spoiled, too.
_READING = (
    *("GetRecords", "GetShardIterator", "DescribeStream", "ListStreams", "ListShards", "DescribeStreamSummary"),
    *("DescribeTable", "ListTables"),
)


def check_operation(name: str) -> None:
    """ValueError where none of the three services has such a call: nothing would ever meet it."""
    if name not in _READING and name not in _all_operations():
        raise ValueError(unknown("operation", name, _READING))


@lru_cache(maxsize=1)
def _all_operations() -> frozenset[str]:
    """The names that boto3 knows: looked up only where one is none of the usual, for it takes a while."""
    session = botocore.session.get_session()
    services = ("dynamodb", "dynamodbstreams", "kinesis")
    return frozenset(name for service in services for name in session.get_service_model(service).operation_names)


@dataclass
class Fault:
    """One fault: which calls it meets, after how many of them it begins, and how many it spoils."""

    kind: Kind
    operation: str | None = None  # None: any
    shard: str | None = None  # by the test's name for it, or by id; None: any, also calls without a shard
    times: int | None = 1  # None: until it is withdrawn
    after: int = 0  # calls that it lets pass first
    seconds: float = 0.05  # of "slow": real ones
    met: int = 0
    served: int = 0
    is_released: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise ValueError(unknown("fault", str(self.kind), get_args(Kind)))
        if self.operation is not None:
            check_operation(self.operation)
        if not 0 <= self.seconds <= MOST_SECONDS:
            raise ValueError(f"seconds goes from 0 to {MOST_SECONDS}; this is {self.seconds!r:.60}")
        if self.after < 0 or (self.times is not None and self.times < 0):
            raise ValueError(f"times and after are 0 or more, not {self.times!r:.60} and {self.after!r:.60}")

    def takes(self, operation: str, shards: tuple[str, ...]) -> bool:
        """Whether it spoils this call; counts."""
        if self.operation not in (None, operation) or (self.shard is not None and self.shard not in shards):
            return False
        self.met += 1
        if self.met <= self.after or (self.times is not None and self.served >= self.times):
            return False
        self.served += 1
        return True

    @property
    def is_spent(self) -> bool:
        """Whether it will spoil no more calls."""
        return self.times is not None and self.served >= self.times

    def refuse(self) -> None:
        """Raises the service's refusal, if it is one of those."""
        if self.kind in REFUSALS:
            raise REFUSALS[self.kind]()

    def release(self) -> None:
        """Lets go of the calls that hang."""
        self.is_released.set()


class Faults:
    """The faults laid out; of several that meet a call, the first one laid out takes it."""

    def __init__(self) -> None:
        self._faults: list[Fault] = []

    def add(self, fault: Fault) -> None:
        """Lays one out."""
        self._faults.append(fault)

    def take(self, operation: str, shards: tuple[str, ...]) -> Fault | None:
        """The fault that spoils this call, if any."""
        return next((fault for fault in self._faults if fault.takes(operation, shards)), None)

    def withdraw(self, fault: Fault | None = None) -> None:
        """Takes one away, or all of them; what hangs is let go."""
        for gone in [fault] if fault else self._faults:
            gone.release()
        self._faults = [left for left in self._faults if fault is not None and left is not fault]
