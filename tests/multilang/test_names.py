"""Daemons of one name (`workerId`): a name is no proof that the one before is gone, so each lease stays in one hand."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.multilang.rig import Rig
from tests.multilang.test_daemon import daemon, properties, rows
from tests.stream.helpers import soon

pytestmark = [pytest.mark.realtime, pytest.mark.timeout(280)]


def test_two_daemons_of_one_name_do_not_share_a_lease(tmp_path: Path):
    """As an operator starts them by mistake, or an orchestrator that takes a process for dead."""
    rig = Rig(tmp_path, "S1 ~ S2")
    try:
        with rig.running(worker_id="one", failover=1.0):
            rig.wait_for(rig.put("S1", 1) + rig.put("S2", 1))
            begun = {key: lease.fence for key, lease in rig.leases().items()}
            with rig.running(worker_id="one", failover=1.0):
                renewed = {key: lease.version for key, lease in rig.leases().items()}
                soon(lambda: all(lease.version > renewed[key] + 6 for key, lease in rig.leases().items()))
                rig.wait_for(rig.put("S1", 1) + rig.put("S2", 1))
                assert len(rig.pids()) == 2, "the second one started no child"
                assert {key: lease.fence for key, lease in rig.leases().items()} == begun
        assert not rig.failed()
    finally:
        rig.close()


def test_one_that_was_stopped_leaves_its_leases_at_once_and_one_that_was_killed_after_a_failover(
    tmp_path: Path,
):
    rig = Rig(tmp_path, "S1")
    try:
        file = properties(rig, tmp_path)
        file.write_text(file.read_text().replace("= 2000", "= 3000") + "workerId = one\n")
        with daemon(rig, tmp_path, "--properties", file) as process:
            rig.wait_for(rig.put("S1", 1))
            process.send_signal(signal.SIGTERM)
            assert process.wait(30) == 0
        with daemon(rig, tmp_path, "--properties", file) as process:
            rig.wait_for(rig.put("S1", 1))
            last = rig.stream.history[-1].sequence_number
            soon(lambda: [row["checkpoint"]["S"] for row in rows(rig).values()] == [last])
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
        with daemon(rig, tmp_path, "--properties", file):
            rig.wait_for(rig.put("S1", 1))
        begun = rig.moments("S1", "initialize")
        given = rig.moments("S1", "processRecords")
        assert len(begun) == 3 and begun[2] - given[1] > 2, "for a failover the one before may live"
        assert rig.given() == [f"record {number}" for number in range(3)]
    finally:
        rig.close()
