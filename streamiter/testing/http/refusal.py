"""Refusals: what the service answers instead of a result, by the names that it gives them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

_DYNAMODB = "com.amazonaws.dynamodb.v20120810#"
_CORAL = "com.amazon.coral."

# The namespace goes over the wire in front of the name; clients cut it off.
_NAMESPACES = {
    "AccessDeniedException": _CORAL + "service#",
    "ExpiredTokenException": _CORAL + "service#",
    "SerializationException": _CORAL + "service#",
    "ServiceUnavailableException": _CORAL + "availability#",
    "ThrottlingException": _CORAL + "availability#",
    "UnknownOperationException": _CORAL + "service#",
    "UnrecognizedClientException": _CORAL + "service#",
    "ValidationException": _CORAL + "validate#",
}


MOST_MESSAGE = 4096  # characters: an error must not send back the megabytes that were wrong


class Refusal(Exception):
    """An error answer: its name, its message, its HTTP status, and what else its body says."""

    def __init__(self, name: str, message: str, status: int = 400, **more: Any) -> None:
        super().__init__(f"{name}: {message}")
        self.name = name
        self.message = message if len(message) <= MOST_MESSAGE else f"{message[:MOST_MESSAGE]}..."
        self.status = status
        self.more = more

    @property
    def qualified(self) -> str:
        """The name as the wire carries it."""
        return _NAMESPACES.get(self.name, _DYNAMODB) + self.name


def invalid(message: str) -> Refusal:
    """The request is not of the form that the service takes."""
    return Refusal("ValidationException", message)


def broken_rules(broken: Sequence[tuple[str, str, str]]) -> Refusal:
    """The request breaks rules of the service's model (value, member, rule), in the words that the model's check uses."""
    told = [
        f"Value {value} at '{member}' failed to satisfy constraint: {'' if rule.startswith('Map ') else 'Member must '}{rule}"
        for value, member, rule in broken
    ]
    return invalid(f"{len(told)} validation error{'s' * (len(told) > 1)} detected: {'; '.join(told)}")


def broken_rule(value: object, member: str, rule: str) -> Refusal:
    """The request breaks one rule of the service's model."""
    return broken_rules([(f"'{value}'", member, rule)])


def wrong_value(what: str) -> Refusal:
    """A refusal: the request has the right form, but a value is impossible."""
    return invalid(f"One or more parameter values were invalid: {what}")


def not_found(what: str) -> Refusal:
    """No such table, stream or shard (any more)."""
    return Refusal("ResourceNotFoundException", f"Requested resource not found: {what}")


def trimmed(what: str = "The data you are trying to access has been trimmed.") -> Refusal:
    """The records asked for are older than what the service holds."""
    return Refusal("TrimmedDataAccessException", what)


def expired() -> Refusal:
    """The service gave the iterator out too long ago."""
    return Refusal("ExpiredIteratorException", "The provided iterator exceeds the maximum age allowed.")


def throttled(what: str = "Rate exceeded") -> Refusal:
    """Too many calls."""
    return Refusal("ThrottlingException", what)


def limit_exceeded(what: str = "Too many operations for a given subscriber.") -> Refusal:
    """Too many calls on one shard or stream."""
    return Refusal("LimitExceededException", what)


def throughput_exceeded() -> Refusal:
    """More than a table or a shard is provisioned for."""
    return Refusal(
        "ProvisionedThroughputExceededException",
        "The level of configured provisioned throughput was exceeded. Consider increasing your provisioning level.",
    )


def request_limit_exceeded() -> Refusal:
    """More calls than the account may make."""
    return Refusal(
        "RequestLimitExceeded", "Throughput exceeds the current throughput limit for your account. Please try again."
    )


def failure() -> Refusal:
    """The service's own fault, as Kinesis names it."""
    return Refusal("InternalFailureException", "Internal service failure", 500)


def unknown_operation(what: str = "") -> Refusal:
    """There is no such call."""
    return Refusal("UnknownOperationException", what)


def internal(what: str = "The request processing has failed because of an unknown error.") -> Refusal:
    """The service's own fault."""
    return Refusal("InternalServerError", what, 500)


def unavailable() -> Refusal:
    """The service is down for a moment."""
    return Refusal("ServiceUnavailableException", "Service is currently unavailable, please try again.", 503)
