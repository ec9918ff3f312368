"""Signals to real workers: which of them ask it to stop, and which end it at once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.app.processes import ROOT, Fleet, end, fleet
from tests.stream.helpers import soon

pytestmark = [pytest.mark.realtime, pytest.mark.timeout(280)]


@pytest.fixture(autouse=True)
def _heard() -> Iterator[None]:
    """Tests that run under nohup, or in the background, have SIGHUP ignored, and the workers would keep to that."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


def has_begun(shop: Fleet, process: subprocess.Popen[bytes]) -> bool:
    return bool(shop.given_to(process))


def test_a_terminal_that_closes_stops_a_worker_as_sigterm_does(tmp_path: Path):
    """It may say so more than once: its shell does, and the system."""
    with fleet(tmp_path, "S1", PAUSE=0.3, SIZE=1) as shop:
        shop.put(3)
        worker = shop.start()
        soon(partial(has_begun, shop, worker))
        for _ in range(3):
            worker.send_signal(signal.SIGHUP)
        assert end(worker, signal.SIGHUP) == 0
        begun, done = shop.given(), shop.given("end")
        assert len(begun) == len(done) >= 1, "what ran could finish"
        assert not any(lease.owner for lease in shop.leases().values()) and not shop.workers()
        other = shop.start()
        shop.wait_for_all()
        assert end(other) == 0
        assert shop.twice() == []


def test_sigterm_and_then_sighup_as_systemd_sends_them_is_one_request(tmp_path: Path):
    with fleet(tmp_path, "S1", PAUSE=0.3, SIZE=1) as shop:
        shop.put(1)
        worker = shop.start()
        soon(partial(has_begun, shop, worker))
        worker.send_signal(signal.SIGHUP)
        worker.send_signal(signal.SIGTERM)
        assert end(worker, signal.SIGHUP) == 0
        assert len(shop.given("end")) == 1


def test_a_supervisor_and_its_processes_stop_on_sighup(tmp_path: Path):
    with fleet(tmp_path, "S1 ~ S2", PAUSE=0.2, SIZE=1) as shop:
        shop.put(6)
        supervisor = shop.start("--processes", 2)
        soon(lambda: bool(shop.given()))  # the other process may not have begun
        for _ in range(2):
            os.killpg(supervisor.pid, signal.SIGHUP)  # as a terminal does: to all of them
        assert supervisor.wait(60) == 0
        assert len(shop.given()) == len(shop.given("end"))
        assert not any(lease.owner for lease in shop.leases().values()) and not shop.workers()
        assert "stopping" in shop.log


@pytest.mark.parametrize("name", ["SIGHUP", "SIGTERM", "SIGINT"])
def test_a_signal_does_not_kill_a_process_that_has_hardly_begun(tmp_path: Path, name: str):
    """Its interpreter sends one to itself before any line of ours runs."""
    hook = f"""
import os, signal, sys
if "--supervised" in sys.orig_argv:
    os.kill(os.getpid(), signal.{name})
"""
    (tmp_path / "sitecustomize.py").write_text(hook)
    with fleet(tmp_path, "S1") as shop:
        paths = os.pathsep.join([str(tmp_path), str(ROOT)])
        supervisor = shop.start("--processes", 2, PYTHONPATH=paths)
        if name == "SIGHUP":  # that is for the supervisor to hear, and a process that starts goes on
            soon(lambda: len(shop.workers()) == 2)
            supervisor.terminate()
        assert supervisor.wait(60) == 0
        assert "was killed" not in shop.log and "Traceback" not in shop.log


@pytest.mark.parametrize("first", ["SIGHUP", "SIGTERM"])
def test_a_sighup_that_comes_after_the_app_has_stopped_does_not_kill_the_process(first):
    """It is still on its way out then, and would end as killed though it had stopped as asked."""
    program = f"""
import os, signal
from streamiter import App

app = App("shop", store="memory:")

@app.timer(0.01)
def stop():
    os.kill(os.getpid(), signal.{first})

app.run()
os.kill(os.getpid(), signal.SIGHUP)
print("whole")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout) == (0, "whole\n"), done.stderr


def test_a_worker_under_nohup_goes_on(tmp_path: Path):
    with fleet(tmp_path, "S1") as shop:
        before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # it is handed down
        try:
            worker = shop.start()
        finally:
            signal.signal(signal.SIGHUP, before)
        shop.put(1)
        soon(partial(has_begun, shop, worker))
        worker.send_signal(signal.SIGHUP)
        shop.put(5)
        shop.wait_for_all()
        assert end(worker) == 0
