"""A reader that is killed again and again: `python -m tests.stream.killed_reader URL ARN FOLDER KILLS SEED`.

Each life is a forked child: it goes on from the state that was saved last, cuts off what the output has beyond it, and
writes each record to the output and then its state, renamed into place. Its parent kills it at a random moment. When told
so on standard input, it lives once more, to the end of the stream.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from pathlib import Path
from typing import Any

import boto3
from botocore.config import Config

from streamiter import Clock, DynamoDBStreams, Stream
from streamiter.testing import ManualClock


def read(client: Any, arn: str, folder: Path, clock: Clock | None) -> None:
    """One life."""
    state_file, output = folder / "state.json", folder / "records.txt"
    state = json.loads(state_file.read_text()) if state_file.exists() else {"token": "trim_horizon", "size": 0}
    output.touch()
    with (
        output.open("r+b") as lines,
        Stream(DynamoDBStreams(arn, client=client), state["token"], poll_interval=0.02, clock=clock) as stream,
    ):
        lines.truncate(state["size"])
        lines.seek(0, os.SEEK_END)
        for record in stream.follow():
            lines.write(f"{record.shard_id} {record.sequence_number} {record.clock} {record.late}\n".encode())
            lines.flush()
            beside = folder / "state.new"
            beside.write_text(json.dumps({"token": stream.token, "size": lines.tell()}))
            beside.replace(state_file)


def live(client: Any, arn: str, folder: Path, clock: Clock | None = None) -> int:
    """A child that reads; gives its process id."""
    child = os.fork()
    if child:
        return child
    try:
        read(client, arn, folder, clock)
        os._exit(0)
    except BaseException as error:
        (folder / "error.txt").write_text(repr(error))
        os._exit(1)


def main(url: str, arn: str, folder: Path, kills: int, seed: int) -> None:
    """Many short lives, and a whole one."""
    client = boto3.client("dynamodbstreams", endpoint_url=url, config=Config(retries={"max_attempts": 0}, proxies={}))
    chance = random.Random(seed)
    for _ in range(kills):
        child = live(client, arn, folder)
        time.sleep(chance.uniform(0.0, 0.09))
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        if not os.WIFSIGNALED(status):
            sys.exit(f"a reader ended by itself: {(folder / 'error.txt').read_text()}")
    print("killed", flush=True)
    sys.stdin.readline()
    # By a clock that is turned by sleeping: it takes half a minute of it to be sure that a shard has no child.
    _, status = os.waitpid(live(client, arn, folder, ManualClock()), 0)
    sys.exit(os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]), int(sys.argv[4]), int(sys.argv[5]))
