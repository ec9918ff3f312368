"""`streamiter leases`: shown, let go, set, exported and imported."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from streamiter.lease import Lease
from streamiter.store import Table, open_store
from streamiter.testing import Simulator
from tests.cli.conftest import Invoke

LEASES = Table("leases", "shop", "orders")
ARN = "arn:aws:dynamodb:eu-west-1:000000000000:table/users/stream/2025-06-15T00:00:00.000"


@pytest.fixture
def url(tmp_path: Path, sim: Simulator) -> str:
    made = f"sqlite:///{tmp_path / 'shop.db'}"
    since = int(sim.clock.now()) - 90
    leases = [
        Lease("S0", checkpoint="SHARD_END", completed=True, fence=1, progress={"children": ["S1", "S2"]}),
        Lease("S1", owner="w1", checkpoint="17", fence=3, parents=("S0",), progress={"since": since}),
        Lease("S2", parents=("S0",)),
        Lease("S3", checkpoint="5", progress={"gap": "trimmed"}),
    ]
    with open_store(made) as store:
        for lease in leases:
            store.write(LEASES, lease.row, None)
    return made


def lease(url: str, key: str) -> Lease:
    with open_store(url) as store:
        row = store.read(LEASES, key)
        assert row is not None
        return Lease.of(row)


def test_list_says_who_holds_what_since_when(invoke: Invoke, url: str):
    done = invoke("leases", "list", url)
    assert done.exit_code == 0, done.output
    assert [line.split() for line in done.stdout.splitlines()] == [
        ["leases", "of", "shop,", "orders"],
        ["lease", "state", "owner", "since", "fence", "checkpoint"],
        ["S0", "done", "1", "SHARD_END"],
        ["S1", "held", "w1", "1", "m", "30", "s", "3", "17"],
        ["S2", "free", "0", "TRIM_HORIZON"],
        ["S3", "gap", "0", "5"],
    ]


def test_list_as_json(invoke: Invoke, url: str):
    told = json.loads(invoke("leases", "list", url, "--json").stdout)
    assert [row["lease"] for row in told] == ["S0", "S1", "S2", "S3"]
    assert told[1]["owner"] == "w1"
    assert told[1] | {"progress": 0} == {
        "app": "shop",
        "stream": "orders",
        "lease": "S1",
        "state": "held",
        "owner": "w1",
        "checkpoint": "17",
        "completed": False,
        "fence": 3,
        "parents": ["S0"],
        "progress": 0,
        "version": 1,
    }


def test_show_tells_all_of_one(invoke: Invoke, url: str):
    done = invoke("leases", "show", url, "S3")
    assert done.exit_code == 0, done.output
    assert 'progress    {"gap": "trimmed"}' in done.stdout
    assert json.loads(invoke("leases", "show", url, "S3", "--json").stdout)["state"] == "gap"


def test_release_asks_the_owner(invoke: Invoke, url: str):
    done = invoke("leases", "release", url, "S1")
    assert done.stdout == "w1 is asked to let S1 go; it does so at its next look\n"
    assert (lease(url, "S1").owner, lease(url, "S1").progress["release"]) == ("w1", True)
    assert "leaving" in invoke("leases", "list", url).stdout
    assert invoke("leases", "release", url, "S2").stdout == "S2 is free already\n"


def test_release_by_force_takes_it_away(invoke: Invoke, url: str):
    done = invoke("leases", "release", url, "S1", "--force")
    assert "after the failover" in done.stdout
    assert (lease(url, "S1").owner, lease(url, "S1").fence, lease(url, "S1").checkpoint) == ("operator", 4, "17")


def test_reset_sets_the_place_and_accepts_a_gap(invoke: Invoke, url: str):
    done = invoke("leases", "reset", url, "S3", "--to", "TRIM_HORIZON")
    assert done.exit_code == 0, done.output
    told = {"accepted": True, "opened": 1_750_000_000_000_000}
    assert (lease(url, "S3").checkpoint, dict(lease(url, "S3").progress)) == ("TRIM_HORIZON", told)
    wrong = invoke("leases", "reset", url, "S3", "--to", "LATEST")
    assert wrong.exit_code != 0
    assert "is no checkpoint" in wrong.output


def test_accept_gives_up_what_may_be_lost(invoke: Invoke, url: str):
    done = invoke("leases", "accept", url, "S3")
    assert "the gap of S3 is accepted" in done.stdout
    assert (lease(url, "S3").checkpoint, lease(url, "S3").owner) == ("TRIM_HORIZON", "operator")
    assert "gap" not in lease(url, "S3").progress
    assert "no gap stands at the lease 'S1'" in invoke("leases", "accept", url, "S1").output


def test_accept_leaves_the_total_order_where_it_is(invoke: Invoke, url: str):
    token = json.dumps({"lanes": []})
    with open_store(url) as store:
        table = Table("leases", "shop", "audit")
        store.write(table, Lease("total", owner="w1", checkpoint=token, fence=1, progress={"gap": "trimmed"}).row, None)
    assert invoke("leases", "accept", url, "total", "--stream", "audit").exit_code == 0
    with open_store(url) as store:
        (row,) = store.scan(table)
    found = Lease.of(row)
    assert (found.checkpoint, found.owner, found.fence, [*found.progress]) == (token, "operator", 2, ["accepted"])
    wrong = invoke("leases", "reset", url, "total", "--stream", "audit", "--to", "17")
    assert "is the place of one shard" in wrong.output


def test_export_and_import_are_the_reverse_of_each_other(invoke: Invoke, url: str, tmp_path: Path):
    file = tmp_path / "users.token"
    assert invoke("leases", "export", url, "--source", ARN, "--to", file).exit_code == 0
    done = invoke("leases", "import", url, file, "--app", "other", "--stream", "orders")
    assert done.output == f"4 leases of {ARN} written\n"
    with open_store(url) as store:
        rows = {row.key: Lease.of(row) for row in store.scan(Table("leases", "other", "orders"))}
    assert (rows["S1"].checkpoint, rows["S1"].parents, rows["S1"].owner) == ("17", ("S0",), None)
    assert rows["S0"].completed
    again = invoke("leases", "import", url, file, "--app", "other", "--stream", "orders")
    assert again.exit_code != 0
    assert "already" in again.output


def test_what_is_not_there_is_said(invoke: Invoke, url: str, tmp_path: Path):
    assert "there is no lease 'S9'" in invoke("leases", "show", url, "S9").output
    assert "has no leases for --app nobody" in invoke("leases", "list", url, "--app", "nobody").output
    assert "no store is called 'mongo'" in invoke("leases", "list", "mongo://x").output
    assert "there is no folder" in invoke("leases", "list", "sqlite:////nowhere/shop.db").output
    assert "there is no file" in invoke("leases", "import", url, tmp_path / "x").output


@pytest.mark.parametrize(
    "command",
    [
        ("list",),
        ("show", "S1"),
        ("release", "S1"),
        ("reset", "S1", "--to", "TRIM_HORIZON"),
        ("export", "--source", ARN),
    ],
)
def test_a_store_that_is_not_there_is_said_and_not_made(invoke: Invoke, tmp_path: Path, command: tuple[str, ...]):
    name, *rest = command
    done = invoke("leases", name, f"sqlite:///{tmp_path / 'shpo.db'}", *rest)
    assert done.exit_code == 1
    assert "there is no file" in done.output and "has a worker run with it" in done.output
    assert not list(tmp_path.iterdir())


def test_of_several_apps_one_is_to_be_named(invoke: Invoke, url: str):
    with open_store(url) as store:
        store.write(Table("leases", "second", "orders"), Lease("S1").row, None)
    assert invoke("leases", "list", url).stdout.count("leases of") == 2
    assert "say which with --app and --stream" in invoke("leases", "show", url, "S1").output
    assert "state" in invoke("leases", "show", url, "S1", "--app", "second").stdout


@pytest.fixture
def led(url: str, sim: Simulator) -> str:
    """The same store, with a leader; and one of an app of timers alone."""
    since = int(sim.clock.now()) - 60
    with open_store(url) as store:
        leader = Lease(
            "total", owner="w2", checkpoint='{"report": 1750000000000000}', fence=4, progress={"since": since}
        )
        store.write(Table("leader", "shop"), leader.row, None)
        store.write(Table("leader", "reports"), Lease("total").row, None)
    return url


def test_list_says_who_leads_since_when(invoke: Invoke, led: str):
    done = invoke("leases", "list", led)
    assert done.exit_code == 0, done.output
    told = [line.split() for line in done.stdout.splitlines()]
    assert ["leader", "of", "shop"] in told and ["leader", "of", "reports"] in told
    assert ["leader", "held", "w2", "1", "m", "4"] in told
    assert ["leader", "free", "0"] in told
    rows = json.loads(invoke("leases", "list", led, "--app", "shop", "--json").stdout)
    assert [row["lease"] for row in rows] == ["S0", "S1", "S2", "S3", "leader"]
    assert rows[-1]["owner"] == "w2"


def test_an_app_of_timers_alone_has_a_leader_and_no_leases(invoke: Invoke, led: str):
    assert invoke("leases", "list", led, "--app", "reports").stdout.splitlines()[0] == "leader of reports"
    assert "leader of" not in invoke("leases", "list", led, "--stream", "orders").stdout
    assert "has no leases for --app nobody" in invoke("leases", "list", led, "--app", "nobody").output
