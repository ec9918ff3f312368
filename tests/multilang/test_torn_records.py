"""Records that cannot be decoded, under the daemon: no child gets one, none is blamed, and none is passed over in silence."""

from __future__ import annotations

from pathlib import Path

import pytest

from streamiter.app import Poisoned
from streamiter.lease import operator
from streamiter.store import Table
from tests.multilang.rig import Rig
from tests.stream.helpers import soon

pytestmark = [pytest.mark.realtime, pytest.mark.timeout(280)]


def test_a_record_that_cannot_be_decoded_is_never_passed_over_until_an_operator_says_so(tmp_path: Path):
    """Its lease stands still before it, and says so; its child is not blamed for it, and other shards go on."""
    rig = Rig(tmp_path, "S1 ~ S2")
    try:
        rig.put("S1", 3)
        before, torn = (record.sequence_number for record in rig.stream.history[:2])
        rig.torn = torn
        key, table = rig.stream.shard_id("S1"), Table("leases", "shop", "clicks")
        with rig.running():
            soon(lambda: bool(rig.leases().get(key) and rig.leases()[key].progress.get("quarantine")))
            rig.wait_until_checkpointed(before)
            rig.wait_for(rig.put("S2", 1))
            assert rig.given("S1") == ["record 0"]
            (poisoned,) = [event for event in rig.events if isinstance(event, Poisoned)]
            assert (poisoned.place, poisoned.verdict) == (f"record {torn}", "quarantine")
            assert not rig.failed() and len(rig.pids("S1")) == 1
        assert rig.actions("S1")[-3:] == ["shutdownRequested", "leaseLost", "end"]
        with rig.running():
            rig.wait_for(rig.put("S2", 1))  # a new daemon does not pass it over, either
            assert rig.given("S1") == ["record 0"]
            operator.reset(rig.store, table, key, torn, 0)
            rig.wait_for(["record 2"])
        assert rig.given("S1") == ["record 0", "record 2"]
        assert rig.leases()[key].checkpoint == rig.stream.history[2].sequence_number
    finally:
        rig.close()


def test_what_stands_in_the_log_of_a_record_that_cannot_be_decoded(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    rig = Rig(tmp_path)
    rig.put("S1", 1)
    rig.torn = rig.stream.history[0].sequence_number
    try:
        with rig.running():
            soon(lambda: any(isinstance(event, Poisoned) for event in rig.events))
    finally:
        rig.close()
    key = rig.stream.shard_id("S1")
    (told,) = [line for line in caplog.messages if "quarantine" in line]
    assert f"record {rig.torn} of shard {key} cannot be decoded: it is torn; " in told
    assert f"streamiter leases reset STORE {key} --to {rig.torn}" in told
