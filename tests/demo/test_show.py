from __future__ import annotations

import pytest

from streamiter.demo import __main__ as command
from streamiter.demo.reader import Saved, read_on, save
from streamiter.demo.rerun import Rerun


@pytest.fixture
def reads(monkeypatch):
    """Runs the demo with a reader in this process; `change` is what becomes of its records. Gives the exit code."""

    def show(change):
        def resume(rerun):
            file = rerun._file
            read_on(rerun._sim.endpoint_url, rerun._sim.stream_arn, str(file))
            save(file, Saved(change(rerun.saved), None))

        monkeypatch.setattr(Rerun, "run_and_kill", lambda *_, **__: None)
        monkeypatch.setattr(Rerun, "resume", resume)
        return command.show(seed=1, fast=True)

    return show


@pytest.mark.parametrize(
    "change, code, told",
    [
        (lambda records: records, 0, "nothing lost, nothing twice, same order"),
        (lambda records: records[:20] + records[21:], 1, "1 lost, nothing twice, another order"),
        (lambda records: records[:20] + records[19:], 1, "nothing lost, 1 twice, another order"),
        (
            lambda records: records[:19] + records[20:18:-1] + records[21:],
            1,
            "nothing lost, nothing twice, another order",
        ),
    ],
)
def test_it_says_so_and_fails_where_the_reader_did_not_read_what_it_should(change, code, told, reads, capsys):
    assert reads(change) == code
    (verdict,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith(("✓", "✗", "ok ", "x "))]
    assert told in verdict
