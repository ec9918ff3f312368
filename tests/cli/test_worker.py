"""`streamiter worker`: which app is meant, what is said of mistakes, and what becomes of processes that end; pure parts."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from streamiter.app import App
from streamiter.cli.catalogue import streamiter
from streamiter.cli.commands.worker import make_one_of_several
from streamiter.cli.fleet.logs import Lines
from streamiter.cli.fleet.supervision import HALTED, HEALTHY_SECONDS, MISUSED, Fate, Supervision
from streamiter.store.memory import MemoryStore

APP = """
from streamiter.app import App

app = App("shop")
class inner:
    app = App("inner")

@app.processor("dynamodb://users")
def audit(batch): ...

number = 7
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty folder to be in; what is imported from it is forgotten afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry not in ("", str(tmp_path))])
    monkeypatch.setattr(logging.getLogger("streamiter"), "level", logging.NOTSET)
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(tmp_path)):
            del sys.modules[name]


def worker(*arguments: str) -> Result:
    return CliRunner().invoke(streamiter, ["worker", *arguments])


# -- which app


@pytest.mark.parametrize(
    "target,words",
    [
        ("shop_app", "'shop_app' names no app: say MODULE:APP, such as shop:app"),
        (":app", "':app' names no app"),
        ("shop_app.py:app", "is a file: say its module, shop_app:app"),
        ("./src/shop_app.py:app", "is a file: say its module, src.shop_app:app"),
        ("shup:app", "there is no module 'shup', neither in the current folder nor among what is installed"),
        ("shop_app.deeper:app", "there is no module 'shop_app.deeper'"),
        ("shop_app:ap", "shop_app has no 'ap'; its apps: app"),
        ("shop_app:inner.ap", "shop_app has no 'inner.ap'; its apps: app"),
        ("shop_app:number", "shop_app:number is no App, but of type int; its apps: app"),
        ("empty_app:app", "empty_app has no 'app'; it has no App at its top level"),
    ],
)
def test_what_names_no_app_is_one_line_and_exit_code_2(folder: Path, target: str, words: str):
    (folder / "shop_app.py").write_text(APP)
    (folder / "empty_app.py").write_text("")
    done = worker(target)
    assert done.exit_code == 2, done.output
    assert words in done.stderr and len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    "source,words",
    [
        ("\nimport nowhere_at_all", "broken_app cannot be imported: No module named 'nowhere_at_all'"),
        ("\n1 / 0", "broken_app cannot be imported: division by zero"),
        ("\ndef f(:", "broken_app cannot be imported: invalid syntax"),
    ],
)
def test_a_module_that_cannot_be_imported_says_where(folder: Path, source: str, words: str):
    (folder / "broken_app.py").write_text(source)
    done = worker("broken_app:app")
    assert done.exit_code == 1
    assert words in done.stderr and "broken_app.py, line 2" in done.stderr and "Traceback" not in done.stderr
    assert "Traceback" in worker("broken_app:app", "--debug").stderr


def test_a_processor_that_the_app_has_not_is_misuse(folder: Path):
    (folder / "shop_app.py").write_text(APP)
    done = worker("shop_app:app", "--only", "bill", "--store", "memory:")
    assert done.exit_code == 2
    assert "shop has no processor or timer 'bill'; it has audit" in done.stderr


@pytest.mark.parametrize("store", ["memory:", MemoryStore()])
def test_processes_do_not_share_what_is_in_memory(store: str | MemoryStore):
    with pytest.raises(click.UsageError, match="several processes share a store by its URL"):
        make_one_of_several(App("shop", store=store), 1)


def test_processes_have_names_of_their_own_also_where_the_app_names_its_worker():
    apps = [App("shop", worker_id="here") for _ in range(2)]
    for number, app in enumerate(apps, 1):
        make_one_of_several(app, number)
    assert [app.worker_id for app in apps] == ["here-1", "here-2"]


# -- lines


def line(level: int, message: str, number: int | None = None, **more: object) -> str:
    record = logging.LogRecord("streamiter.app", level, __file__, 1, message, (), None)
    record.created, record.msecs = 1_750_000_000.25, 250.0
    record.__dict__ |= more
    return Lines(number).format(record)


def test_lines_say_when_in_utc_and_in_which_process():
    assert line(logging.INFO, "bill: lease S1 taken") == "2025-06-15T15:06:40.250Z bill: lease S1 taken"
    assert line(logging.WARNING, "slow", 2) == "2025-06-15T15:06:40.250Z 2 warning: slow"


def test_a_line_cannot_steer_a_terminal():
    assert "\x1b" not in line(logging.ERROR, "lease \x1b[2J")
    try:
        raise ValueError("\x1b[2J")
    except ValueError:
        text = line(logging.ERROR, "failed", exc_info=sys.exc_info())
    assert "\x1b" not in text and text.splitlines()[1].startswith("Traceback")


# -- supervision


def running(processes: int = 2, now: float = 0.0) -> Supervision:
    supervision = Supervision(processes, now)
    for number in supervision.due(now):
        supervision.started(number, now)
    return supervision


def test_all_processes_are_started_at_once():
    supervision = Supervision(3, 5.0)
    assert supervision.due(5.0) == [1, 2, 3] and not supervision.is_over


def test_one_that_dies_is_started_again_after_pauses_that_double():
    supervision, now, pauses = running(), 0.0, []
    for _ in range(8):
        fate, pause = supervision.ended(1, -9, now)
        assert fate is Fate.AGAIN and supervision.due(now) == []
        now += pause
        assert supervision.next_due == now and supervision.due(now) == [1]
        supervision.started(1, now)
        pauses.append(pause)
    assert pauses == [1, 2, 4, 8, 16, 32, 60, 60]
    assert supervision.ended(2, 1, now)[1] == 1, "each process has pauses of its own"


def test_a_minute_of_health_makes_the_pauses_short_again():
    supervision, now = running(1), 0.0
    for _ in range(5):
        now += supervision.ended(1, 1, now)[1]
        supervision.started(1, now)
    assert supervision.ended(1, 1, now + HEALTHY_SECONDS) == (Fate.AGAIN, 1)
    assert supervision.next_due == now + HEALTHY_SECONDS + 1
    supervision.started(1, now + HEALTHY_SECONDS + 1)
    assert supervision.ended(1, 1, now + HEALTHY_SECONDS + 2) == (Fate.AGAIN, 2)


def test_one_that_ended_by_itself_stays_ended_and_the_others_go_on():
    supervision = running()
    assert supervision.ended(1, 0, 9.0) == (Fate.DONE, 0)
    assert not supervision.is_stopping and not supervision.is_over
    supervision.ended(2, 0, 9.0)
    assert supervision.is_over and supervision.exit_code == 0


@pytest.mark.parametrize("code", [HALTED, MISUSED])
def test_where_a_processor_halted_or_the_app_cannot_be_meant_all_stop(code: int):
    supervision = running(3)
    supervision.ended(2, -9, 1.0)  # waits for its next start
    assert supervision.ended(1, code, 1.0) == (Fate.ALL_STOP, 0)
    assert supervision.is_stopping and supervision.next_due is None and not supervision.is_over
    assert supervision.ended(3, 0, 2.0) == (Fate.DONE, 0)
    assert supervision.is_over and supervision.exit_code == code


@pytest.mark.parametrize("code,exit_code", [(0, 0), (1, 1), (-9, 1), (HALTED, HALTED)])
def test_once_it_stops_nothing_is_started_and_a_failure_shows_in_the_exit_code(code: int, exit_code: int):
    supervision = running()
    supervision.stop()
    assert supervision.ended(1, code, 1.0) == (Fate.DONE, 0)
    assert supervision.ended(2, 0, 1.0) == (Fate.DONE, 0)
    assert supervision.is_over and supervision.due(99.0) == [] and supervision.exit_code == exit_code
