"""Refusals of the weather: those alone that the service's own description knows of an operation."""

from __future__ import annotations

from functools import cache

from streamiter.testing.http.descriptions import description
from streamiter.testing.trouble.injected import Kind

# By the names that the services' descriptions use.
_THROTTLES: dict[str, Kind] = {
    "LimitExceededException": "limit",
    "ProvisionedThroughputExceededException": "throughput",
    "RequestLimitExceeded": "request_limit",
    "ThrottlingException": "throttle",
}
_ERRORS: dict[str, Kind] = {"InternalFailureException": "failure", "InternalServerError": "500"}
_EXPIRED: dict[str, Kind] = {"ExpiredIteratorException": "expired"}
_GONE: dict[str, Kind] = {"ResourceNotFoundException": "gone"}
_TRIMMED: dict[str, Kind] = {"TrimmedDataAccessException": "trimmed"}


@cache
def throttles(service: str, operation: str) -> tuple[Kind, ...]:
    """How an operation may say that there are too many calls."""
    return _known(service, operation, _THROTTLES)


@cache
def errors(service: str, operation: str) -> tuple[Kind, ...]:
    """How it may say that the service itself failed."""
    return _known(service, operation, _ERRORS)


@cache
def expired(service: str, operation: str) -> tuple[Kind, ...]:
    """Whether it may say that an iterator expired."""
    return _known(service, operation, _EXPIRED)


@cache
def gone(service: str, operation: str) -> tuple[Kind, ...]:
    """Whether it may say that there is no such shard."""
    return _known(service, operation, _GONE)


@cache
def trimmed(service: str, operation: str) -> tuple[Kind, ...]:
    """Whether it may say that a place is trimmed."""
    return _known(service, operation, _TRIMMED)


def _known(service: str, operation: str, kinds: dict[str, Kind]) -> tuple[Kind, ...]:
    found = description(service)["operations"].get(operation, {})
    names = {error["shape"] for error in found.get("errors", ())}
    return tuple(kind for name, kind in kinds.items() if name in names)
