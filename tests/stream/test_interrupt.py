"""Ctrl-C ends a reader at once, also while a shard never answers."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable
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


FAN_OUT = """
import sys
import boto3
from botocore.config import Config
from streamiter import KinesisStreams, Stream

client = boto3.client(
    "kinesis", endpoint_url=sys.argv[2], config=Config(read_timeout={seconds}, region_name="us-east-1")
)
stream = Stream(KinesisStreams("orders", client=client, consumer=sys.argv[1]), "trim_horizon", lateness=None)
try:
    for record in stream.follow(): print(record.payload, flush=True)
except KeyboardInterrupt:
    stream.close()
    print("interrupted after", stream.stats.records, flush=True)
"""


@pytest.mark.parametrize("loop", LOOPS)
def test_ctrl_c_ends_it_while_a_shard_never_answers(served: Simulator, loop: str):
    assert seconds_to_end(served, loop) < CALL_SECONDS / 2, "it waited for the call"


@pytest.mark.realtime
def test_ctrl_c_ends_it_within_a_second(served: Simulator):
    before = slowness()
    took = seconds_to_end(served, "follow")
    assert took <= 1.0 * max(before, slowness())


@pytest.mark.parametrize("hangs", [False, True])
def test_ctrl_c_ends_a_fan_out_that_waits_for_events(served: Simulator, hangs: bool):
    """Its subscriptions stand for five minutes, and each has a thread that waits for the next event."""
    orders = served.create_stream("orders", "S0 ~ S1 ~ S2")
    kinesis = served.client("kinesis")
    consumer = kinesis.register_stream_consumer(StreamARN=orders.arn, ConsumerName="reports")["Consumer"]["ConsumerARN"]
    if hangs:
        served.fault("SubscribeToShard", kind="hang", times=None)
    reader = started(FAN_OUT.format(seconds=CALL_SECONDS), consumer, served.endpoint_url)
    took = interrupted(served, reader, lambda: served.calls.total("SubscribeToShard") >= 3)
    assert took < CALL_SECONDS / 2, "it waited for the call"


def seconds_to_end(sim: Simulator, loop: str) -> float:
    """How long a reader in this loop lives on after Ctrl-C, while its calls get no answer."""
    sim.shape("S1 ~ S2")
    write(sim, "S1", "S2")
    fault = sim.fault("DescribeStream" if loop == "latest" else "GetRecords", kind="hang", times=None)
    reader = started(READER.format(loop=LOOPS[loop], seconds=CALL_SECONDS), sim.stream_arn, sim.endpoint_url)
    return interrupted(sim, reader, lambda: fault.served >= 1)


def started(program: str, *arguments: str) -> subprocess.Popen[str]:
    """A reader in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-c", program, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Tests that run in the background have SIGINT ignored, and the reader would keep to that.
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
    )


def interrupted(sim: Simulator, reader: subprocess.Popen[str], is_waiting: Callable[[], bool]) -> float:
    """How long it lives on after Ctrl-C."""
    try:
        soon(is_waiting, seconds=CALL_SECONDS)
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
