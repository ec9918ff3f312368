"""Options of a Kinesis source: how a stream is named, and what its rates come to; pure."""

from __future__ import annotations

import re
from typing import Any

from streamiter.clock import SECOND_US
from streamiter.errors import InvalidOption, InvalidStream

_ARN = re.compile(r"arn:[\w-]+:kinesis:(?P<region>[\w-]*):[\w-]*:stream/(?P<name>[A-Za-z0-9_.-]{1,128})")
_CONSUMER = re.compile(rf"(?P<stream>{_ARN.pattern})/consumer/[A-Za-z0-9_.-]{{1,128}}:[0-9]+")
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,128}")


def parse_name(name: str) -> re.Match[str] | None:
    """The parts of an ARN; None where it is a name. InvalidStream where it is neither."""
    if name.startswith("arn:"):
        arn = _ARN.fullmatch(name)
        if arn is None:
            stream, _, consumer = name.partition("/consumer/")
            if consumer and _ARN.fullmatch(stream):
                raise InvalidStream(f"{name!r} is the ARN of a consumer; what is read is its stream: {stream!r}")
            raise InvalidStream(
                f"{name!r} is not the ARN of a Kinesis stream (arn:aws:kinesis:REGION:ACCOUNT:stream/NAME)"
            )
        return arn
    if not _NAME.fullmatch(name):
        raise InvalidStream(f"{name!r} is not a stream's name: letters, digits, '_', '-' and '.', at most 128 of them")
    return None


def check_consumer(consumer: object, name: str) -> None:
    """Refuses what is not the ARN of a consumer of this stream."""
    found = _CONSUMER.fullmatch(consumer) if isinstance(consumer, str) else None
    if found is None:
        shown = repr(consumer)[:200]
        raise InvalidOption(
            f"consumer= takes the ARN of a consumer (arn:aws:kinesis:...:stream/NAME/consumer/...), not {shown}"
        )
    if name not in (found["stream"], found["name"]):
        raise InvalidOption(f"consumer= is registered with the stream {found['stream']}, and {name} is to be read")


def check_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    """Refuses a value that is none of these."""
    if value not in choices:
        raise InvalidOption(f"{name}= takes {' or '.join(map(repr, choices))}, not {value!r}")


def pause_us(name: str, rate: float | None) -> Any:
    """Microseconds for one of what the rate counts."""
    if rate is None:
        return 0
    if not isinstance(rate, int | float) or isinstance(rate, bool) or not rate > 0:
        raise InvalidOption(f"{name}= takes a number above 0, or None, not {rate!r}")
    return SECOND_US / rate
