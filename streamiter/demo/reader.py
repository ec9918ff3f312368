"""The reader: a process of its own that reads the stream over HTTP and saves after each record, until somebody kills it.

The records read and the token after them are one file, renamed into place at once: whenever the reader dies, they agree.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from streamiter import DynamoDBStreams, Stream
from streamiter.demo import READ
from streamiter.demo.law import Name
from streamiter.testing.clients import make_client

STOPPING = (signal.SIGINT, signal.SIGTERM)
PATIENCE = 5.0  # seconds: where the demo itself is gone, its service is, too


class Saved(NamedTuple):
    """What a reader has done so far."""

    records: list[Name]
    token: dict[str, Any] | None


def read_on(url: str, arn: str, file: str) -> None:
    """Reads what the stream holds, from where the file says that reading stands; prints the shard of each record."""
    path = Path(file)
    records, token = load(path)
    client = make_client("dynamodbstreams", url, validates=False, options={})
    with (
        closing(client),
        Stream(DynamoDBStreams(arn, client=client), token or "trim_horizon", patience=PATIENCE) as stream,
    ):
        for batch in stream.batches(1, until="caught_up"):
            records += [(record.shard_id, record.sequence_number) for record in batch]
            save(path, Saved(records, batch.token))
            print(records[-1][0], flush=True)


def load(path: Path) -> Saved:
    """What was saved; nothing, before the first record."""
    if not path.exists():
        return Saved([], None)
    content = json.loads(path.read_text("utf-8"))
    return Saved([(shard, number) for shard, number in content["records"]], content["token"])


def save(path: Path, saved: Saved) -> None:
    """All of it or nothing: written beside, and renamed."""
    beside = path.with_suffix(".new")
    beside.write_text(json.dumps(saved._asdict()), "utf-8")
    os.replace(beside, path)


class Process:
    """A reader, as seen from outside."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def shards(self) -> Iterator[str]:
        """The shard of each record, as the reader tells it."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            yield line.strip()

    def kill(self) -> None:
        """SIGKILL, which no process can catch."""
        self._process.kill()

    def wait(self) -> int | None:
        """Waits for its end; gives the signal that it died of, if any."""
        code = self._process.wait()
        if code > 0:
            raise ChildProcessError(f"the demo's reader ended with exit code {code}; it says why above")
        return -code or None


@contextmanager
def reading(url: str, arn: str, path: Path) -> Iterator[Process]:
    """A reader at work. It is gone at the end, whatever happens."""
    command = [sys.executable, "-m", "streamiter.demo", READ, url, arn, str(path)]
    process: subprocess.Popen[str] | None = None
    try:
        with signals_held():
            # In a session of its own: a Ctrl-C in the terminal is ours alone to deal with.
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, start_new_session=True
            )
        yield Process(process)
    finally:
        if process is not None:
            with process:  # closes its pipe, waits for its end
                process.kill()


@contextmanager
def signals_held() -> Iterator[None]:
    """What would stop us waits until the end: in the middle of it a process could begin that nobody knows of."""
    came: list[int] = []
    before = {number: signal.signal(number, lambda number, _: came.append(number)) for number in STOPPING}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if came:
            signal.raise_signal(came[0])
