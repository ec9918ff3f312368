"""Ctrl-C ends a reader at once, also while a shard never answers."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from functools import partial

import pytest

from streamiter.testing import Simulator
from tests.stream.helpers import slowness, soon, write

CALL_SECONDS = 200  # after which the reader gives up a call that gets no answer

READER = """
import sys
import boto3
from botocore.config import Config
from streamiter import DynamoDBStreams, Stream

config = Config(read_timeout={seconds}, region_name="us-east-1")
client = boto3.client("dynamodbstreams", endpoint_url=sys.argv[2], config=config)
stream = Stream(DynamoDBStreams(sys.argv[1], client=client))
try:
    {loop}
except KeyboardInterrupt:
    stream.close()
    print("interrupted after", stream.stats.records, flush=True)
"""

LOOPS = {
    "next": "while True: next(stream)",
    "follow": "for record in stream.follow(): pass",
    "batches": "for batch in stream.batches(100, until='caught_up'): pass",
    "to_arrow": "stream.to_arrow()",
    "heartbeat": "next(stream)\n    while True: stream.heartbeat()",
    "latest": "stream.move_to('latest')",
}


@pytest.mark.parametrize("loop", LOOPS)
def test_ctrl_c_ends_it_while_a_shard_never_answers(served: Simulator, loop: str):
    assert seconds_to_end(served, loop) < CALL_SECONDS / 2, "it waited for the call"


@pytest.mark.realtime
def test_ctrl_c_ends_it_within_a_second(served: Simulator):
    before = slowness()
    took = seconds_to_end(served, "follow")
    assert took <= 1.0 * max(before, slowness())


def seconds_to_end(sim: Simulator, loop: str) -> float:
    """How long a reader in this loop lives on after Ctrl-C, while its calls get no answer."""
    sim.shape("S1 ~ S2")
    write(sim, "S1", "S2")
    fault = sim.fault("DescribeStream" if loop == "latest" else "GetRecords", kind="hang", times=None)
    reader = subprocess.Popen(
        [sys.executable, "-c", READER.format(loop=LOOPS[loop], seconds=CALL_SECONDS), sim.stream_arn, sim.endpoint_url],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Tests that run in the background have SIGINT ignored, and the reader would keep to that.
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
    )
    try:
        soon(lambda: fault.served >= 1, seconds=CALL_SECONDS)
        reader.send_signal(signal.SIGINT)
        began = time.monotonic()
        told, errors = reader.communicate(timeout=CALL_SECONDS)
        took = time.monotonic() - began
    finally:
        reader.kill()
        reader.communicate()
        sim.heal()
    assert (told, errors, reader.returncode) == ("interrupted after 0\n", "", 0)
    return took
