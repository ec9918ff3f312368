"""Refusals: what the service answers instead of a result, by the names that it gives them."""

from __future__ import annotations

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


class Refusal(Exception):
    """An error answer: its name, its message and its HTTP status."""

    def __init__(self, name: str, message: str, status: int = 400) -> None:
        super().__init__(f"{name}: {message}")
        self.name = name
        self.message = message
        self.status = status

    @property
    def qualified(self) -> str:
        """The name as the wire carries it."""
        return _NAMESPACES.get(self.name, _DYNAMODB) + self.name


def invalid(message: str) -> Refusal:
    """The request is not of the form that the service takes."""
    return Refusal("ValidationException", message)


def broken_rule(value: object, member: str, rule: str) -> Refusal:
    """The request breaks a rule of the service's model, in the words that the model's check uses."""
    return invalid(
        f"1 validation error detected: Value '{value}' at '{member}' failed to satisfy constraint: Member must {rule}"
    )


def not_found(what: str) -> Refusal:
    """No such table, stream or shard (any more)."""
    return Refusal("ResourceNotFoundException", f"Requested resource not found: {what}")


def trimmed(what: str = "The operation attempted to read past the oldest stream record in a shard.") -> Refusal:
    """The records asked for are older than what the service holds."""
    return Refusal("TrimmedDataAccessException", what)


def expired() -> Refusal:
    """The iterator was handed out too long ago."""
    return Refusal("ExpiredIteratorException", "The shard iterator has expired. Obtain a new one and try again.")


def throttled(what: str = "Rate of requests exceeds the allowed throughput.") -> Refusal:
    """Too many calls."""
    return Refusal("ThrottlingException", what)


def limit_exceeded(what: str = "Too many operations for a given subscriber") -> Refusal:
    """Too many calls on one shard or stream."""
    return Refusal("LimitExceededException", what)


def internal() -> Refusal:
    """The service's own fault."""
    return Refusal("InternalServerError", "The request processing has failed because of an unknown error.", 500)


def unavailable() -> Refusal:
    """The service is down for a moment."""
    return Refusal("ServiceUnavailableException", "Service is currently unavailable, please try again.", 503)
