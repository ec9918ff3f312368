"""`streamiter top --store`: what the rows of a fleet say, look after look, and how it is shown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from streamiter.cli.fleet.screen import draw, draw_line
from streamiter.cli.fleet.sight import ProcessorView, Sight
from streamiter.lease import Lease, Worker
from streamiter.store import Table, open_store
from tests.cli.conftest import Invoke

TABLE = Table("leases", "shop", "bill")
NOW = 1_750_000_000.0
LEASES = (
    Lease("S0", checkpoint="SHARD_END", completed=True, progress={"acked": 100, "children": ["S1"]}),
    Lease("S1", owner="w1", fence=2, progress={"since": NOW - 90, "acked": 30, "rate": 90, "lag": 4}),
    Lease("S2", owner="w2", fence=1, progress={"acked": 7, "rate": 30, "lag": 400}),
    Lease("S3", owner="w2", fence=1, progress={"rate": 0, "lag": 12, "busy": 45}),
    Lease("S4", owner="w2", fence=1, progress={"quarantine": "record 7: ValueError"}),
    Lease("S5"),
    Lease("S6", owner="w1", progress={"gap": "trimmed"}),
    Lease("S7", owner="w1", progress={"release": True}),
)
WORKERS = (Worker("w1", beat=1), Worker("w2", beat=5, stuck=("S2",)), Worker("w3", beat=2, leaving=True))


def looked() -> ProcessorView:
    return Sight().look(TABLE, LEASES, WORKERS, NOW, 0.0)


def shown(lines: list[list[object]]) -> list[str]:
    return ["".join(span.text for span in line).rstrip() for line in lines]  # type: ignore[attr-defined]


def test_leases_that_are_in_trouble_come_first_then_those_furthest_behind():
    view = looked()
    assert [(row.lease, row.state) for row in view.leases] == [
        ("S3", "stuck"),
        ("S4", "quarantine"),
        ("S6", "gap"),
        ("S2", "held"),
        ("S1", "held"),
        ("S5", "free"),
        ("S7", "leaving"),
    ]
    assert view.states == {"done": 1, "held": 2, "stuck": 1, "quarantine": 1, "free": 1, "gap": 1, "leaving": 1}


def test_a_processor_has_the_records_of_all_its_leases_and_the_greatest_lag():
    view = looked()
    assert (view.acked, view.rate, view.lag_seconds) == (137, 2.0, 400)


def test_workers_have_their_shares_and_what_hangs_with_them():
    told = {row.worker: (row.leases, row.rate, row.lag_seconds, row.stuck, row.is_leaving) for row in looked().workers}
    assert told == {"w1": (3, 1.5, 4, 0, False), "w2": (3, 0.5, 400, 2, False), "w3": (0, 0.0, None, 0, True)}


def test_a_worker_is_as_alive_as_the_last_change_of_its_row():
    sight = Sight()

    def silent(beat: int, monotonic: float) -> float | None:
        return sight.look(TABLE, (), [Worker("w1", beat=beat)], NOW, monotonic).workers[0].silent_seconds

    assert silent(1, 0.0) is None, "one look shows nothing"
    assert silent(1, 4.0) == 4.0
    assert silent(2, 7.0) == 0.0
    assert silent(2, 19.5) == 12.5


def test_the_screen_shows_it_all_and_leaves_out_what_runs_well_where_there_is_no_room():
    lines = shown(draw([looked()]))
    assert lines[0].startswith("shop / bill   2 held  1 leaving  1 free  1 quarantine  1 gap  1 stuck  1 done")
    assert lines[0].endswith("2.0 records/s   137 records   lag 6 m 40 s")
    assert lines[3].split() == ["w2", "3", "0.5", "6", "m", "40", "s", "2"]
    assert lines[6].split() == ["S3", "stuck", "w2", "0.0", "12", "s", "45", "s"]
    assert len(lines) == 13
    few = shown(draw([looked()], most_lines=10))
    assert len(few) <= 10 and few[-1] == "… 5 more" and "S4" in few[-2]
    assert "no workers" in shown(draw([Sight().look(TABLE, LEASES, (), NOW, 0.0)]))[1]


def test_in_a_line_for_logs():
    assert draw_line(looked(), NOW) == (
        "2025-06-15T15:06:40Z  shop/bill  3 workers  2 held  1 leaving  1 free  1 quarantine  1 gap  1 stuck  1 done  "
        "137 records  2.0/s  lag 400 s"
    ).replace("400 s", "6 m 40 s")


@pytest.fixture
def url(tmp_path: Path) -> str:
    made = f"sqlite:///{tmp_path / 'shop.db'}"
    with open_store(made) as store:
        for lease in LEASES:
            store.write(TABLE, lease.row, None)
        for worker in WORKERS:
            store.write(TABLE._replace(kind="workers"), worker.row, None)
        store.write(TABLE._replace(app="other"), LEASES[1].row, None)
    return made


def test_once_prints_all_processors_of_the_store(invoke: Invoke, url: str):
    done = invoke("top", "--store", url, "--once")
    assert done.exit_code == 0, done.output
    assert "shop / bill" in done.stdout and "other / bill" in done.stdout
    assert "other / bill" not in invoke("top", "--store", url, "--once", "--app", "shop").stdout


def test_as_json_for_programs(invoke: Invoke, url: str):
    (told,) = json.loads(invoke("top", "--store", url, "--once", "--app", "shop", "--json").stdout)
    assert told["states"]["held"] == 2 and told["workers"][1]["stuck"] == 2 and told["leases"][0]["lease"] == "S3"


def test_without_a_terminal_a_line_for_each_processor_at_each_look(invoke: Invoke, url: str):
    lines = invoke("top", "--store", url, "--count", "3").stdout.splitlines()
    assert len(lines) == 6 and "shop/bill  3 workers" in lines[1]


@pytest.mark.parametrize(
    "arguments,words",
    [
        (["top"], "Missing argument 'URL': name a stream, or the store of a fleet with --store"),
        (["top", "users", "--app", "shop"], "--app goes with --store"),
        (["top", "users", "--store", "memory:"], "a fleet is watched by its store alone"),
        (["top", "--store", "memory:", "--from", "latest"], "--store and --from do not go together"),
        (["top", "users", "--once", "--count", "2"], "--once and --count do not go together"),
    ],
)
def test_what_does_not_go_together(invoke: Invoke, arguments: list[str], words: str):
    done = invoke(*arguments)
    assert done.exit_code == 2
    assert words in done.stderr


def test_a_store_without_leases_says_so(invoke: Invoke, url: str):
    done = invoke("top", "--store", url, "--app", "none", "--once")
    assert done.exit_code == 1 and "the store has no leases for --app none" in done.stderr
