"""`streamiter export`: each record is in the folder exactly once, whenever it is killed and however often it is run."""

from __future__ import annotations

import csv
import json
import os
import time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from streamiter import DynamoDBStreams, Stream
from streamiter.cli.files import folder as folder_module
from streamiter.cli.files.folder import LOCK, STATE, Folder
from streamiter.installing import install_command
from streamiter.testing import Simulator
from tests.cli.conftest import Invoke, run, start, token_in
from tests.stream.helpers import in_order, write


@pytest.fixture
def users(sim: Simulator) -> Simulator:
    sim.shape("S1 ~ S2")
    write(sim, "S1", "S2", rounds=10)
    sim.split("S1", "S3", "S4")
    write(sim, "S2", "S3", "S4", rounds=10)
    return sim


def users_of(sim: Simulator) -> Simulator:
    sim.shape("S1")
    return sim


def wanted(sim: Simulator) -> list[str]:
    return [record.sequence_number for record in in_order(sim)]


def parts_of(folder: Path) -> list[Path]:
    return sorted(folder.glob("part-*"))


def exported(folder: Path) -> list[str]:
    """The sequence numbers in the folder, in the order of the parts."""
    numbers = []
    for part in parts_of(folder):
        assert part.read_text("utf-8").endswith("\n"), "no part is cut off"
        numbers += [json.loads(line)["sequence_number"] for line in part.read_text("utf-8").splitlines()]
    return numbers


def export(invoke: Invoke, folder: Path, *more: object) -> Any:
    return invoke("export", "users", "--to", folder, "--format", "jsonl", "--part-records", "7", *more)


# -- what is written


def test_parts_are_in_order_and_hold_each_record_once(users: Simulator, invoke: Invoke, tmp_path: Path):
    done = export(invoke, tmp_path / "out")
    assert done.exit_code == 0, done.output
    assert done.stdout == (
        f"50 records written to {tmp_path / 'out' / 'part-000001.jsonl'} to part-000008.jsonl; run it again to go on\n"
    )
    assert exported(tmp_path / "out") == wanted(users)
    names = sorted(os.listdir(tmp_path / "out"))
    assert names == [STATE, LOCK, *(f"part-{number:06d}.jsonl" for number in range(1, 9))]


def test_run_again_it_adds_what_came_since(users: Simulator, invoke: Invoke, tmp_path: Path):
    for _ in range(3):
        export(invoke, tmp_path)
        assert exported(tmp_path) == wanted(users)
        write(users, "S2", "S4", rounds=3)
    export(invoke, tmp_path)
    users.clock.advance(60)
    users.put("S4", key="one more")
    assert export(invoke, tmp_path).stdout == (
        f"1 record written to {tmp_path / 'part-000012.jsonl'}; with those of earlier runs {tmp_path} holds 69 records in "
        "12 parts; run it again to go on\n"
    )
    assert export(invoke, tmp_path, "--until", "20 minutes ago").stdout == (
        f"nothing new since the last run; {tmp_path} holds 69 records in 12 parts; run it again to go on\n"
    )


def test_where_nothing_was_written_yet_that_is_said(sim: Simulator, invoke: Invoke, tmp_path: Path):
    sim.shape("S1")
    assert export(invoke, tmp_path).stdout == "no records yet; run it again to go on\n"
    sim.put("S1", key="a")
    one = f"1 record written to {tmp_path / 'part-000001.jsonl'}; run it again to go on\n"
    assert export(invoke, tmp_path).stdout == one


def test_a_full_disk_is_told_with_what_is_safe(sim: Simulator, invoke: Invoke, tmp_path: Path, monkeypatch):
    write(users_of(sim), "S1", rounds=10)

    def sync(_: int) -> None:
        if list(tmp_path.glob(".part-*")):
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(folder_module.os, "fsync", sync)
    done = export(invoke, tmp_path)
    assert done.exit_code == 1 and done.stderr == (
        f"streamiter: {tmp_path} cannot be written: No space left on device; its parts are whole: make room, and "
        "run it again to go on\n"
    )
    assert not list(tmp_path.glob(".part-*")), "what did not fit takes no room either"
    monkeypatch.undo()
    export(invoke, tmp_path)
    assert exported(tmp_path) == wanted(sim)


def test_to_follow_and_to_end_is_a_mistake(users: Simulator, invoke: Invoke, tmp_path: Path):
    done = export(invoke, tmp_path, "--follow", "--until", "caught_up")
    assert done.exit_code == 2 and "do not go together" in done.output
    assert not parts_of(tmp_path)


def test_all_formats_hold_the_same(sim: Simulator, invoke: Invoke, tmp_path: Path):
    sim.shape("S1")
    number = Decimal("1234567890123456789012345678901234567.8")
    sim.put("S1", key='a,"b"\n', new={"id": 'a,"b"\n', "n": number, "b": b"\xff", "s": {"x"}}, user_identity=True)
    sim.put("S1", key="=cmd", event="REMOVE", old={"id": "=cmd"}, created=None)
    for name in ("parquet", "jsonl", "csv"):
        assert invoke("export", "users", "--to", tmp_path / name, "--format", name).exit_code == 0
    with Stream(DynamoDBStreams(sim.stream_arn, client=sim.client()), clock=sim.clock) as stream:
        table = stream.to_arrow()
    assert pq.read_table(tmp_path / "parquet" / "part-000001.parquet").equals(table)
    rows = table.to_pylist()
    lines = [
        json.loads(line, parse_float=Decimal)
        for line in (tmp_path / "jsonl" / "part-000001.jsonl").read_text().splitlines()
    ]
    with open(tmp_path / "csv" / "part-000001.csv", encoding="utf-8", newline="") as file:
        cells = list(csv.DictReader(file))
    assert list(lines[0]) == list(cells[0]) == table.column_names
    for row, line, cell in zip(rows, lines, cells, strict=True):
        created = row["created_at"]
        row["created_at"] = None if created is None else created.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        assert cell == {name: "" if value is None else str(value) for name, value in row.items()}
        for name in ("keys", "new_image", "old_image", "user_identity"):
            row[name] = None if row[name] is None else json.loads(row[name])
        assert line == row
    assert lines[0]["new_image"]["n"] == {"N": str(number)}


def test_from_and_until_bound_it(users: Simulator, invoke: Invoke, tmp_path: Path):
    records = in_order(users)
    middle = records[0].created + 8
    at = f"{middle:.0f}"
    export(invoke, tmp_path / "a", "--until", at)
    assert exported(tmp_path / "a") == [record.sequence_number for record in records if record.created < middle]
    export(invoke, tmp_path / "b", "--from", at)
    assert exported(tmp_path / "b") == [record.sequence_number for record in records if record.created >= middle]
    export(invoke, tmp_path / "a")
    assert exported(tmp_path / "a") == wanted(users)


# -- kills


class Crash(BaseException):
    """The process is gone at this very step: nothing after it is done."""


@pytest.mark.parametrize("steps", [range(30), range(30, 60), range(60, 90)])
def test_killed_at_any_step_each_record_is_there_once(users: Simulator, tmp_path: Path, monkeypatch, steps):
    """Each way to disk counts as a step: before and after each fsync and each rename, one after the other."""
    with Stream(DynamoDBStreams(users.stream_arn, client=users.client()), clock=users.clock) as stream:
        batches = list(stream.batches(7, until="caught_up"))
    tokens = [json.dumps(batch.token, sort_keys=True) for batch in batches]
    for step in steps:
        folder = tmp_path / str(step)
        if crash_at(step, folder, batches, tokens, monkeypatch):
            assert set(held(folder)) == set(range(len(held(folder)))), "no part is missing, none is taken back"
            assert not crash_at(10**9, folder, batches, tokens, monkeypatch)
        assert held(folder) == list(range(len(batches)))
        assert not list(folder.glob(".part-*")), "nothing is left beside"


def held(folder: Path) -> list[int]:
    return [int(part.read_text()) for part in parts_of(folder)]


def crash_at(step: int, folder: Path, batches: list[Any], tokens: list[str], monkeypatch) -> bool:
    """Writes the batches that are missing; gives whether it was cut off at this step."""
    left = step

    def counted(real):
        def call(*arguments):
            nonlocal left
            for place in ("before", "after"):
                if left == 0:
                    raise Crash(place)
                left -= 1
                if place == "before":
                    result = real(*arguments)
            return result

        return call

    with monkeypatch.context() as patched:
        for name in ("fsync", "replace"):
            patched.setattr(os, name, counted(getattr(os, name)))
        patched.setattr(folder_module, "sync_folder", lambda _: None)
        # A kill leaves what was written beside where it is.
        patched.setattr("streamiter.tokenfile.Path.unlink", lambda *_, **__: None) if step < 10**9 else None
        target = None
        try:
            target = Folder(folder, "arn", "jsonl", "jsonl")
            token = target.state.token
            begin = 0 if token is None else 1 + tokens.index(json.dumps(token, sort_keys=True))
            for number in range(begin, len(batches)):
                target.commit(b"%d" % number, len(batches[number]), batches[number].token)
        except Crash:
            return True
        finally:
            if target is not None:
                target.close()
    assert target.state.records == sum(map(len, batches)) and target.state.parts == len(batches)
    return False


def test_killed_again_and_again_it_comes_to_its_end(served: Simulator, tmp_path: Path):
    served.shape("S1 ~ S2 ~ S3")
    write(served, "S1", "S2", "S3", rounds=150, every=0)
    folder = tmp_path / "out"
    arguments = ("export", "users", "--to", folder, "--format", "jsonl", "--part-records", 10)
    for kill in range(4):
        goal = (kill + 1) * 8
        process = start(served, *arguments)
        while process.poll() is None and len(parts_of(folder)) < goal:
            time.sleep(0.0005)
        process.kill()
        process.communicate()
        seen = exported(folder)
        assert seen == wanted(served)[: len(seen)], "also in the meantime: whole parts, in order, none twice"
    done = run(served, *arguments)
    assert done.returncode == 0, done.stderr
    assert exported(folder) == wanted(served)
    assert f"holds {len(served.history):,} records in" in done.stdout


def test_ctrl_c_while_it_follows_loses_nothing(served: Simulator, tmp_path: Path):
    import signal

    served.shape("S1")
    write(served, "S1", rounds=25, every=0)
    arguments = ("export", "users", "--to", tmp_path, "--format", "jsonl", "--part-records", 10)
    with start(served, *arguments, "--follow") as process:
        while len(parts_of(tmp_path)) < 2:
            assert process.poll() is None
            time.sleep(0.002)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=100)
    assert process.returncode == 130 and errors == ""
    run(served, *arguments)
    assert exported(tmp_path) == wanted(served)


def test_following_a_part_is_closed_after_its_time(users: Simulator, tmp_path: Path):
    """By the hand-turned clock: the stream is closed once the part stands there."""
    from streamiter.cli.commands.export import Export
    from streamiter.cli.setting import Setting
    from tests.cli.conftest import in_context

    source = DynamoDBStreams(users.stream_arn, client=users.client())
    target = Folder(tmp_path, users.stream_arn, "jsonl", "jsonl")
    clock = users.clock
    with in_context(Setting(clock=clock)):
        options = {
            "start": "trim_horizon",
            "until": None,
            "part_records": 1000,
            "part_seconds": 60.0,
            "skip_gaps": False,
        }
        from streamiter.cli.records.formats import to_json_lines

        following = Export(source, target, to_json_lines, **options)
        began = clock.monotonic()
        committed: list[float] = []
        real = target.commit

        def commit(*arguments):
            real(*arguments)
            committed.append(clock.monotonic() - began)
            following.stream.close()

        target.commit = commit
        following.run()
    target.close()
    assert exported(tmp_path) == wanted(users)
    assert 60 <= committed[0] < 65


# -- what is refused


def test_gaps_end_it_after_what_came_before(users: Simulator, invoke: Invoke, tmp_path: Path):
    export(invoke, tmp_path, "--until", f"{users.history[0].created + 4:.0f}")
    before = exported(tmp_path)
    users.trim("S2", before=15)
    done = export(invoke, tmp_path)
    assert done.exit_code == 1 and "--skip-gaps accepts that" in done.stderr
    assert exported(tmp_path)[: len(before)] == before
    assert export(invoke, tmp_path, "--skip-gaps").exit_code == 0
    rest = exported(tmp_path)
    assert len(rest) == len(set(rest))
    trimmed = {record.sequence_number for record in users.history if record.shard_id == "S2"}
    assert set(wanted(users)) - set(rest) <= trimmed


def test_another_stream_another_format_and_strange_folders_are_refused(
    users: Simulator, invoke: Invoke, tmp_path: Path
):
    export(invoke, tmp_path / "out")
    done = invoke("export", "users", "--to", tmp_path / "out", "--format", "csv")
    assert done.exit_code == 1 and "an export of another format, jsonl" in done.stderr
    state = token_in(tmp_path / "out" / STATE)
    (tmp_path / "out" / STATE).write_text(json.dumps(state | {"stream": "arn:other"}))
    assert "an export of another stream, arn:other" in export(invoke, tmp_path / "out").stderr
    (tmp_path / "out" / STATE).write_text("{")
    assert "is damaged" in export(invoke, tmp_path / "out").stderr
    (tmp_path / "out" / STATE).unlink()
    assert "so no export can continue there" in export(invoke, tmp_path / "out").stderr
    (tmp_path / "file").write_text("")
    assert export(invoke, tmp_path / "file").exit_code == 2
    assert export(invoke, tmp_path / "file" / "below").exit_code == 1


def test_two_at_once_are_refused(users: Simulator, invoke: Invoke, tmp_path: Path):
    first = Folder(tmp_path, users.stream_arn, "jsonl", "jsonl")
    assert "another export is writing to" in export(invoke, tmp_path).stderr
    first.close()
    assert export(invoke, tmp_path).exit_code == 0


def test_a_part_that_somebody_put_there_is_not_written_over(users: Simulator, invoke: Invoke, tmp_path: Path):
    export(invoke, tmp_path, "--until", f"{users.history[0].created + 4:.0f}")
    mine = tmp_path / f"part-{len(parts_of(tmp_path)) + 1:06d}.jsonl"
    mine.write_text("mine")
    done = export(invoke, tmp_path)
    assert done.exit_code == 1 and "no export wrote it" in done.stderr
    assert mine.read_text() == "mine"


def test_parts_that_were_taken_away_are_not_written_again(users: Simulator, invoke: Invoke, tmp_path: Path):
    export(invoke, tmp_path)
    for part in parts_of(tmp_path):
        part.unlink()
    write(users, "S2", rounds=2)
    export(invoke, tmp_path)
    assert exported(tmp_path) == wanted(users)[-2:]


def test_without_pyarrow_it_says_how_to_get_it(users: Simulator, invoke: Invoke, tmp_path: Path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow.parquet", None)
    done = invoke("export", "users", "--to", tmp_path / "out")
    assert done.exit_code == 1 and install_command("arrow") in done.stderr
    assert not (tmp_path / "out").exists()
