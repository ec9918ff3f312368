"""The worker: one reader in a process of its own; reads when it is told to, and says how long that took.

It imports the standard library alone, because Bloop's environment has nothing of ours. Tasks come as lines of JSON on
standard input, outcomes go back as lines of JSON.
"""

from __future__ import annotations

import gc
import hashlib
import json
import os
import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, NamedTuple, Self

REGION = "us-east-1"
CREDENTIALS: dict[str, Any] = {"aws_access_key_id": "canned", "aws_secret_access_key": "canned", "region_name": REGION}

MASK = (1 << 64) - 1


class Task(NamedTuple):
    """What is to be read."""

    endpoint_url: str
    arn: str
    records: int  # so many, and then stop
    options: dict[str, Any]  # of the action


class Watch:
    """Measures what runs inside `with watch:`, so that neither setting up nor clearing away counts."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.cpu_seconds = 0.0  # of all threads of this process

    def __enter__(self) -> Self:
        gc.collect()
        self._cpu = time.process_time()
        self._wall = time.perf_counter()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.seconds += time.perf_counter() - self._wall
        self.cpu_seconds += time.process_time() - self._cpu


Action = Callable[[Task, Watch], Any]


class Tally:
    """What was read, as a number that does not depend on the order in which it came: the sum of the records' digests."""

    def __init__(self, *, images: bool) -> None:
        self.count = 0
        self.images = images  # whether they count; else they need not be made
        self._sum = 0

    def add(self, sequence_number: str, event_name: str, created: float, *images: dict[str, Any] | None) -> None:
        """Counts a record in; images are Python values, as boto3's TypeDeserializer gives them."""
        counted = map(_canonical, images) if self.images else ()
        text = repr((sequence_number, event_name.upper(), round(created), *counted))
        self._sum += int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")
        self.count += 1

    def told(self) -> list[Any]:
        """How many, and their digest."""
        return [self.count, f"{self._sum & MASK:016x}"]


def serve(actions: dict[str, Action], versions: dict[str, str]) -> None:
    """Does what the lines on standard input say, until they end."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # What a library prints is no answer.
    print(json.dumps({"python": sys.version.split()[0], **versions}), file=answers, flush=True)
    for line in sys.stdin:
        told = json.loads(line)
        watch = Watch()
        value = actions[told["action"]](Task(**told["task"]), watch)
        outcome = {"value": value, "seconds": watch.seconds, "cpu_seconds": watch.cpu_seconds}
        print(json.dumps(outcome), file=answers, flush=True)


def _canonical(image: dict[str, Any] | None) -> Any:
    return None if image is None else sorted(image.items())
