"""Settings: what is set on a Kinesis stream besides its shards, and the bounds of an account."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from streamiter.testing.http.refusal import Refusal
from streamiter.testing.kinesis.asked import wrong

MOST_TAGS = 50
MOST_CREATING = 5  # streams, or consumers of one
MOST_CONSUMERS = 20  # of a stream
MOST_ON_DEMAND = 50  # streams
MOST_SHARDS_OF_A_STREAM = 10_000
DAY_US = 86_400_000_000
METRICS = (
    "IncomingBytes",
    "IncomingRecords",
    "OutgoingBytes",
    "OutgoingRecords",
    "WriteProvisionedThroughputExceeded",
    "ReadProvisionedThroughputExceeded",
    "IteratorAgeMilliseconds",
)

_TAG = re.compile(r"[\u00C0-\u1FFF\u2C00-\uD7FFA-Za-z0-9_ ./=+\-%@:]*")
_CHARACTERS = "Unicode letters, digits, white space, _ . / = + - % @ :."
_FEWER_CHARACTERS = "Unicode letters, white-spaces, '_',',','/','=','+','-','@',':'."


@dataclass
class Settings:
    """Of one stream."""

    tags: dict[str, str] = field(default_factory=dict)
    metrics: tuple[str, ...] = ()
    key_id: str | None = None  # of the key that its records are encrypted with
    max_record_kib: int = 1024
    warm_mibps: int | None = None
    mode_changes_us: list[int] = field(default_factory=list)
    count_changes_us: list[int] = field(default_factory=list)

    @property
    def encryption(self) -> str:
        """The type of it."""
        return "NONE" if self.key_id is None else "KMS"


def check_tags(texts: Iterable[str], doing: str) -> None:
    """Refuses characters that tags cannot have: some at once, the percent sign in words of its own."""
    texts = list(texts)
    if not all(_TAG.fullmatch(text) for text in texts):
        raise wrong(f"Some tags contain invalid characters. Valid characters: {_CHARACTERS}")
    if any("%" in text for text in texts):
        told = f"because some tags contained illegal characters. The allowed characters are {_FEWER_CHARACTERS}"
        raise wrong(f"Failed to {doing} {told}")


def tagged(tags: Mapping[str, str], added: Mapping[str, str], owner: str) -> dict[str, str]:
    """The tags with more of them; refuses tags that are not allowed. `owner` names what has them, in words."""
    check_tags((*added, *added.values()), f"add tags to {owner}")
    if any(key.lower().startswith("aws:") for key in added):
        raise wrong("Tag keys that begin with aws: are reserved for AWS")
    found = {**tags, **added}
    if len(found) > MOST_TAGS:
        told = f"because a given stream cannot have more than {MOST_TAGS} tags associated with it."
        raise wrong(f"Failed to add tags to {owner} {told}")
    return found


def check_often(changes_us: list[int], most: int, now_us: int, what: str) -> None:
    """Counts a change; refuses one more than a day allows."""
    changes_us[:] = [us for us in changes_us if us > now_us - DAY_US]
    if len(changes_us) >= most:
        raise Refusal("LimitExceededException", f"{what} at most {most} times in 24 hours")
    changes_us.append(now_us)


def metrics_of(names: Iterable[str]) -> tuple[str, ...]:
    """The metrics that are named; ALL names each."""
    named = set(names)
    return METRICS if "ALL" in named else tuple(metric for metric in METRICS if metric in named)
