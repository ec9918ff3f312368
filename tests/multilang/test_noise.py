"""A child that writes without an end is ended in time, and takes no time from the others."""

from __future__ import annotations

import logging
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from streamiter.multilang.child import NOISE_SHOWN
from tests.multilang.rig import CHILD, Rig
from tests.stream.helpers import slowness, soon

pytestmark = [pytest.mark.realtime, pytest.mark.timeout(280)]

# The first process of all writes for ever once it has records; the others are the odd child, which behaves.
NOISY = """
import os, sys
try:
    os.close(os.open(os.path.join(sys.argv[1], "noisy"), os.O_CREAT | os.O_EXCL))
except FileExistsError:
    os.execv(sys.executable, [sys.executable, sys.argv[2], sys.argv[1]])
sys.stdin.buffer.readline()
print('{"action": "status", "responseFor": "initialize"}', flush=True)
sys.stdin.buffer.readline()
while True:
    sys.stdout.buffer.write(WHAT)
"""


@pytest.mark.parametrize("what", ['b"hello\\n" * 10_000', 'b"x" * 100_000', 'b"\\n" * 100_000'])
def test_one_that_writes_without_an_end(tmp_path: Path, what: str, caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.INFO)
    rig = Rig(tmp_path, "S1 ~ S2")
    child = tmp_path / "noisy.py"
    child.write_text(NOISY.replace("WHAT", what.replace("\n", "\\n")))
    words = (sys.executable, str(child), str(rig.notes), str(CHILD))
    try:
        texts = rig.put("S1", 1) + rig.put("S2", 1)
        with rig.running(command=replace(rig.command(seconds=3.0 * slowness()), words=words)):
            soon(lambda: len(rig.pids()) == 1)  # of the other shard; this one notes nothing
            quiet, fences = rig.told()[0]["shardId"], {key: lease.fence for key, lease in rig.leases().items()}
            rig.wait_for(texts, 90)
            assert {failed.why for failed in rig.failed()} == {"it did not answer in time"}
            assert quiet not in {failed.lease for failed in rig.failed()}
            assert {key: lease.fence for key, lease in rig.leases().items()} == fences, "no lease was lost meanwhile"
            assert sum("no message, ignored" in line for line in caplog.messages) <= len(rig.failed()) * NOISE_SHOWN
    finally:
        rig.close()


# Each process writes 8 MB when a message is there, before it reads it, as one does that logs to its standard output.
CHATTY = """
import json, os, select, sys, time
notes = open(os.path.join(sys.argv[1], f"{os.getpid()}.jsonl"), "a")
while True:
    select.select([0], [], [])
    sys.stdout.buffer.write((b"chatter " * 128 + b"\\n") * 8_000)
    sys.stdout.buffer.flush()
    line = sys.stdin.buffer.readline()
    if not line:
        break
    told = json.loads(line)
    given = [[record["partitionKey"], record["sequenceNumber"], 0] for record in told.get("records", ())]
    notes.write(json.dumps({**told, "records": given, "pid": os.getpid(), "time": time.time()}) + "\\n")
    notes.flush()
    sys.stdout.buffer.write(b'{"action": "status", "responseFor": "%b"}\\n' % told["action"].encode())
    sys.stdout.buffer.flush()
"""


def test_one_that_writes_much_before_it_reads_a_long_message(tmp_path: Path):
    """Neither end may wait for the other: its pipe is full, and so is the daemon's."""
    rig = Rig(tmp_path)
    child = tmp_path / "chatty.py"
    child.write_text(CHATTY)
    words = (sys.executable, str(child), str(rig.notes))
    try:
        for number in range(4):
            rig.stream.put("S1", b"x" * 900_000, key=f"key {number}")
        with rig.running(command=replace(rig.command(), words=words)):
            rig.wait_for([f"key {number}" for number in range(4)])
        assert not rig.failed()
    finally:
        rig.close()
