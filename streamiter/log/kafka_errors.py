"""Kafka's errors as ours."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from streamiter.errors import (
    AccessDenied,
    InvalidOption,
    InvalidStream,
    MissingExtra,
    SourceError,
    StreamiterError,
    Throttled,
    TransientError,
)

_DENIED = (
    "TOPIC_AUTHORIZATION_FAILED",
    "GROUP_AUTHORIZATION_FAILED",
    "CLUSTER_AUTHORIZATION_FAILED",
    "TRANSACTIONAL_ID_AUTHORIZATION_FAILED",
    "SASL_AUTHENTICATION_FAILED",
    "_AUTHENTICATION",
    "_SSL",
)
# Not _UNKNOWN_PARTITION: so says a client that has just reached a broker again, and has not heard of the topic's partitions.
_MISSING = ("UNKNOWN_TOPIC_OR_PART", "_UNKNOWN_TOPIC", "TOPIC_EXCEPTION", "UNKNOWN_TOPIC_ID")
_TOO_LARGE = ("MSG_SIZE_TOO_LARGE", "RECORD_LIST_TOO_LARGE", "INVALID_RECORD")
_REFUSED = ("POLICY_VIOLATION", "INVALID_CONFIG", "INVALID_PARTITIONS", "INVALID_REPLICATION_FACTOR", "_INVALID_ARG")


def confluent() -> Any:
    """The client library, or how to get it."""
    try:
        import confluent_kafka
        import confluent_kafka.admin
    except ImportError as error:
        raise MissingExtra("kafka", "confluent_kafka") from error
    return confluent_kafka


def in_our_words(error: Any, where: str) -> StreamiterError:
    """A KafkaError as one of ours; what is not known to be final may pass."""
    name, told = error.name(), f"{where}: {error.str()} ({error.name()})"
    if name in _DENIED:
        return AccessDenied(f"{told}; check the user's rights and what the URL says of security")
    if name in _MISSING:
        return InvalidStream(f"{told}; is the topic there? `grow` makes one")
    if name in _TOO_LARGE:
        return InvalidOption(f"{told}; the topic's max.message.bytes is the most that it takes")
    if name in _REFUSED:
        return InvalidOption(told)
    if name in ("_QUEUE_FULL", "THROTTLING_QUOTA_EXCEEDED"):
        return Throttled(told)
    if name in ("_UNSUPPORTED_FEATURE", "UNSUPPORTED_VERSION"):
        return SourceError(f"{told}; streamiter is tried with brokers of version 4")
    if error.fatal():
        return SourceError(f"{told}; the client cannot go on: open the log anew")
    return TransientError(f"{told}; is a broker reached?")


@contextmanager
def kafka_errors(where: str) -> Iterator[None]:
    """What the client raises inside, as our errors."""
    kafka = confluent()
    try:
        yield
    except kafka.KafkaException as error:
        found = error.args[0] if error.args else None
        if isinstance(found, kafka.KafkaError):
            raise in_our_words(found, where) from None
        raise TransientError(f"{where}: {error}") from error
    except BufferError as error:
        raise Throttled(f"{where}: the client's own queue is full: {error}") from error
