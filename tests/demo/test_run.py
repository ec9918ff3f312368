from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys

import pytest

from tests.demo.running import ROOT, Narrow, command, environment, processes_of, started

CLOSING = r"✓ (\d+) records: nothing lost, nothing twice, same order as without the kill"


def run(folder, *arguments, **more):
    return subprocess.run(
        command("--fast", *arguments), cwd=ROOT, env=environment(folder, **more), capture_output=True, timeout=250
    )


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """One run, for all that is to be said about it."""
    folder = tmp_path_factory.mktemp("demo")
    ended = run(folder)
    assert ended.returncode == 0, ended.stderr.decode()
    assert not list(folder.iterdir()), "files are left behind"
    assert not processes_of(folder), "processes are left behind"
    assert ended.stderr == b""
    return ended.stdout.decode()


def rows(text):
    """The rows of digits: by their label, the shards that the records are of, with where the row begins."""
    found = re.findall(r"^  (reader|resumed|unkilled) +(\d+)", text, re.MULTILINE)
    return dict(found)


def verdict(text, pattern=CLOSING):
    """How many records it says were read as they should be."""
    (found,) = [match for line in text.splitlines() if (match := re.fullmatch(pattern, line))]
    return int(found[1])


def test_it_compares_what_was_read_and_its_rows_bear_it_out(done):
    row = rows(done)
    assert row["reader"] + row["resumed"] == row["unkilled"]
    assert len(row["unkilled"]) == verdict(done)


def test_it_ends_with_what_to_try_next(done):
    *_, title, simulate, tail, first, spark, again = done.splitlines()
    assert title == "What to try next"
    assert simulate.split("  ")[1].endswith("streamiter simulate --orders")
    assert tail.split("  ")[1].endswith("streamiter tail TABLE")
    for line in (first, spark):
        assert (ROOT / line.split()[0]).exists()
    told = subprocess.run(
        [*again.split("  ")[1].split(), "--help"], capture_output=True, text=True, cwd=ROOT, timeout=250
    )
    assert told.returncode == 0
    assert "--seed" in told.stdout


def test_the_kill_falls_in_the_middle(done):
    row = rows(done)
    assert len(row["reader"]) > 5
    assert len(row["resumed"]) > 5
    assert "kill -9" in done


def test_each_record_stands_in_the_column_of_its_shard(done):
    columns: dict[str, int] = {}
    drawn = 0
    for line in done.splitlines():
        graph = line[2:14]
        columns |= (
            {shard: graph.index(shard) for shard in re.findall(r"S\d", graph)} if line[:3].isspace() is False else {}
        )
        record = re.match(r"  .{13}\d\d:\d\d:\d\d  (S\d)  (INSERT|MODIFY|REMOVE)", line)
        if record:
            drawn += 1
            assert graph.index("●") == columns[record[1]], line
    assert drawn > 20


def test_it_shows_lineage_hold_back_token_and_kill(done):
    for told in (
        "S2 => {S3, S4}; S1\n",
        "S2 => {S3, S4}; S1 => S5; S4 => {S6, S7}\n",
        "S1 rolled over into S5",
        "S4 was split into S6 and S7",
        "just written, and held back: ",
        " bytes of JSON",
        "while it is dead: 11 more changes; S3 was split into S8 and S9",
    ):
        assert told in done


def test_nothing_in_it_steers_a_terminal_and_all_of_it_fits(done):
    assert "\\x1b[2Jmallory" in done
    assert all(character.isprintable() or character == "\n" for character in done)
    assert max(map(len, done.splitlines())) <= 80


def test_a_seed_gives_other_changes_and_an_output_without_our_signs_plainer_ones(done, tmp_path):
    ended = run(tmp_path, "--seed", "8", PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert ended.returncode == 0
    plain = ended.stdout.decode("ascii")
    lines = plain.splitlines()
    assert verdict(plain, CLOSING.replace("✓", "ok"))
    assert any(re.match(r"  \*  \|  ", line) for line in lines)
    assert "\\u" not in plain
    assert rows(plain)["unkilled"] != rows(done)["unkilled"]


# -- on a terminal


def on_a_terminal(folder, **more):
    ours, theirs = pty.openpty()
    with started(folder, stdout=theirs, **more) as process:
        os.close(theirs)
        shown = b""
        try:
            while piece := os.read(ours, 65536):
                shown += piece
        except OSError:  # The other side is closed.
            pass
        os.close(ours)
        complaint = process.stderr.read().decode()
        assert process.wait(250) == 0, complaint
    return shown.decode()


def test_a_terminal_gets_colours_and_nothing_else(tmp_path):
    shown = on_a_terminal(tmp_path)
    assert "\x1b[1;32m✓" in shown
    assert set(re.findall(r"\x1b(?!\[[\d;]+m)..", shown)) == set()


def test_no_color_means_none_and_a_run_is_like_the_other(done, tmp_path):
    shown = on_a_terminal(tmp_path, NO_COLOR="1")
    assert "\x1b" not in shown
    chance = re.compile(r"127\.0\.0\.1:\d+|^  (reader|resumed) .*$|\r", re.MULTILINE)  # ... and where the kill falls
    assert chance.sub("", shown) == chance.sub("", done)


# -- ends before its time


@pytest.mark.parametrize(
    "place, number, code",
    [
        (b"A table", signal.SIGINT, 130),
        (b"09:00:0", signal.SIGINT, 130),
        (b"reader    ", signal.SIGINT, 130),
        (b"resumed  ", signal.SIGINT, 130),
        (b"resumed  ", signal.SIGTERM, 143),
    ],
)
def test_a_signal_ends_it_quietly_wherever_it_stands(place, number, code, tmp_path):
    output = Narrow()
    with started(tmp_path, stdout=output.theirs.fileno()) as process:
        output.read_until(place)
        process.send_signal(number)
        output.drain()
        _, complaint = process.communicate(timeout=250)
    assert complaint == b""
    assert process.returncode == code
    assert not list(tmp_path.iterdir())
    assert not processes_of(tmp_path)


@pytest.mark.parametrize("lines", [0, 30])
def test_a_reader_who_has_seen_enough_ends_it_quietly(lines, tmp_path):
    output = Narrow()
    with started(tmp_path, stdout=output.theirs.fileno()) as process:
        for _ in range(lines):
            output.read_until(b"\n")
        output.close()
        complaint = process.stderr.read().decode()
        assert process.wait(250) == 128 + signal.SIGPIPE, complaint
    assert complaint == ""
    assert not list(tmp_path.iterdir())
    assert not processes_of(tmp_path)


def test_so_does_one_who_leaves_what_a_socket_still_holds(tmp_path):
    script = (
        "import sys\n"
        "from streamiter.demo.__main__ import main\n"
        "class Reset(type(sys.stdout)):\n"
        "    def write(self, text): raise ConnectionResetError(104, 'Connection reset by peer')\n"
        "sys.stdout = Reset(sys.stdout.detach())\n"
        "sys.exit(main(['--fast', '--without-spark']))\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, env=environment(tmp_path), capture_output=True, timeout=250
    )
    assert (ended.returncode, ended.stderr) == (128 + signal.SIGPIPE, b"")


def test_it_shows_the_changes_as_a_spark_dataframe(tmp_path):
    ended = subprocess.run(
        command("--fast", with_spark=True), cwd=ROOT, env=environment(tmp_path), capture_output=True, timeout=250
    )
    assert ended.returncode == 0, ended.stderr.decode()
    assert ended.stderr == b""
    before, title, after = ended.stdout.decode().partition("The same changes as a Spark DataFrame, counted\n")
    count = verdict(before)
    assert title
    table, *_ = after.partition("\n\n")
    heading, *lines = table.splitlines()
    assert heading.split() == ["status", "changes", "orders", "total"]
    assert lines[0].split()[0] == "placed"
    assert sum(int(line.split()[1]) for line in lines) == count
    assert not list(tmp_path.iterdir()), "files are left behind"


def test_without_what_spark_needs_it_is_whole_and_names_the_page(tmp_path):
    hidden, files = tmp_path / "hidden", tmp_path / "files"
    hidden.mkdir()
    files.mkdir()
    (hidden / "sitecustomize.py").write_text("import sys; sys.modules['pyspark'] = None  # as if not installed")
    ended = subprocess.run(
        command("--fast", with_spark=True),
        cwd=ROOT,
        env=environment(files) | {"PYTHONPATH": str(hidden)},
        capture_output=True,
        timeout=250,
    )
    assert (ended.returncode, ended.stderr) == (0, b"")
    told = ended.stdout.decode()
    assert verdict(told)
    assert "Spark DataFrame, counted" not in told
    assert "docs/spark.md" in told


def test_help_names_the_options_and_hides_the_inner_one(tmp_path):
    told = run(tmp_path, "--help").stdout.decode()
    assert "--fast" in told
    assert "--seed" in told
    assert "--read" not in told


def test_a_wrong_option_is_refused(tmp_path):
    ended = run(tmp_path, "--seed", "many")
    assert ended.returncode == 2
    assert b"--seed" in ended.stderr
