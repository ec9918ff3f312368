"""Ctrl-C ends a reader at once, also while a shard never answers."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import pytest

from streamiter.testing import Simulator
from tests.stream.helpers import slowness, soon, write

READER = """
import sys
from streamiter import DynamoDBStreams, Stream

stream = Stream(DynamoDBStreams(sys.argv[1], endpoint_url=sys.argv[2], region="us-east-1"))
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
def test_ctrl_c_ends_it_within_a_second_while_a_shard_never_answers(served: Simulator, loop: str):
    served.shape("S1 ~ S2")
    write(served, "S1", "S2")
    hanging = "DescribeStream" if loop == "latest" else "GetRecords"
    # A busy machine may be late, but not three times.
    assert any(seconds_to_end(served, loop, hanging) <= 1.0 * slowness() for _ in range(3))


def seconds_to_end(sim: Simulator, loop: str, hanging: str) -> float:
    """How long a reader in this loop lives on after Ctrl-C."""
    fault = sim.fault(hanging, kind="hang", times=None)
    reader = subprocess.Popen(
        [sys.executable, "-c", READER.format(loop=LOOPS[loop]), sim.stream_arn, sim.endpoint_url],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        soon(lambda: fault.served >= 1, seconds=60)
        time.sleep(0.1)
        reader.send_signal(signal.SIGINT)
        began = time.monotonic()
        told, errors = reader.communicate(timeout=60)
        took = time.monotonic() - began
    finally:
        reader.kill()
        reader.communicate()
        sim.heal()
    assert (told, errors, reader.returncode) == ("interrupted after 0\n", "", 0)
    return took
