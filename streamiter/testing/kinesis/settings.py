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

_TAG = re.compile(r"[\w\s.:/=+\-%@]*")


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


def tagged(tags: Mapping[str, str], added: Mapping[str, str]) -> dict[str, str]:
    """The tags with more of them; a refusal where they cannot be."""
    for text in (*added, *added.values()):
        if not _TAG.fullmatch(text):
            raise wrong(
                "Some tags contain invalid characters. Valid characters: "
                "Unicode letters, digits, white space, _ . : / = + - % @."
            )
    if any(key.lower().startswith("aws:") for key in added):
        raise wrong("Tag keys that begin with aws: are reserved for AWS")
    found = {**tags, **added}
    if len(found) > MOST_TAGS:
        raise wrong(f"A resource cannot have more than {MOST_TAGS} tags associated with it")
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
