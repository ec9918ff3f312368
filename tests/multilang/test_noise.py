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

pytestmark = [pytest.mark.realtime, pytest.mark.timeout(120)]

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
