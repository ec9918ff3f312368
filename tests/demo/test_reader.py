from __future__ import annotations

import signal

import pytest

from streamiter.demo import __main__ as command
from streamiter.demo import reader
from streamiter.demo.reader import Saved, load, read_on, reading, save
from streamiter.testing import Simulator


@pytest.fixture
def sim():
    with Simulator("S0 => {S1, S2}", table="orders") as sim:
        for shard in ("S0", "S1", "S2", "S1"):
            sim.put(shard)
            sim.clock.advance(1)
        sim.clock.advance(10)
        yield sim


def names(records):
    return [(record.shard_id, record.sequence_number) for record in records]


def test_nothing_is_saved_before_the_first_record(tmp_path):
    assert load(tmp_path / "saved.json") == Saved([], None)


def test_what_is_saved_is_loaded_and_nothing_lies_beside_it(tmp_path):
    saved = Saved([("S1", "100"), ("S2", "101")], {"streamiter": 1})
    save(tmp_path / "saved.json", saved)
    assert load(tmp_path / "saved.json") == saved
    assert [path.name for path in tmp_path.iterdir()] == ["saved.json"]


def test_it_reads_on_from_what_is_saved(sim, tmp_path, capsys):
    file = tmp_path / "saved.json"
    read_on(sim.endpoint_url, sim.stream_arn, str(file))
    assert load(file).records == names(sim.history)
    more = [sim.put("S2"), sim.put("S1")]
    sim.clock.advance(10)
    read_on(sim.endpoint_url, sim.stream_arn, str(file))
    assert load(file).records[4:] == names(sorted(more, key=lambda record: record.shard_id))
    assert capsys.readouterr().out.split() == ["S0", "S1", "S2", "S1", "S1", "S2"]


def test_killed_in_the_middle_its_file_is_whole(sim, tmp_path):
    file = tmp_path / "saved.json"
    hang = sim.fault("GetRecords", "S2", kind="hang", times=None)
    with reading(sim.endpoint_url, sim.stream_arn, file) as process:
        told = []
        for shard in process.shards():
            told.append(shard)
            process.kill()
        assert process.wait() == signal.SIGKILL
    sim.heal(hang)
    before = load(file).records
    assert told[0] == "S0"
    assert 0 < len(before) < 4
    read_on(sim.endpoint_url, sim.stream_arn, str(file))
    assert load(file).records == names(sim.history)


def test_a_reader_whose_service_is_gone_says_so_and_ends(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(reader, "PATIENCE", 0.2)
    with Simulator("S0", table="orders") as sim:
        url, arn = sim.endpoint_url, sim.stream_arn
    assert command.read(url, arn, str(tmp_path / "saved.json")) == 1
    told = capsys.readouterr()
    assert told.err.startswith("the demo's reader: ")
    assert told.out == ""


def test_a_reader_that_fails_is_an_error_of_the_demo(tmp_path):
    with reading("http://127.0.0.1:1", "no stream", tmp_path / "saved.json") as process:
        assert list(process.shards()) == []
        with pytest.raises(ChildProcessError, match="exit code 1"):
            process.wait()


def test_a_reader_does_not_outlive_its_context(sim, tmp_path):
    sim.fault(kind="hang", times=None)
    with (
        pytest.raises(KeyboardInterrupt),
        reading(sim.endpoint_url, sim.stream_arn, tmp_path / "saved.json") as process,
    ):
        raise KeyboardInterrupt
    assert process.wait() == signal.SIGKILL
