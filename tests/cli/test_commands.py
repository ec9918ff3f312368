"""What holds for every command: help with examples, completion, one-line errors, exit codes, what loads."""

from __future__ import annotations

import copy
import os
import re
import signal
import subprocess
import sys
import time

import click
import pytest
from click.testing import CliRunner

from streamiter.cli.catalogue import COMMANDS, streamiter
from streamiter.cli.moments import FORMS, HOW, age, parse_moment
from streamiter.cli.terminal.words import in_our_words
from streamiter.errors import CredentialsMissing, RecordsExpired
from streamiter.testing import Simulator
from tests.cli.conftest import command_line, environment, start
from tests.demo.running import Narrow
from tests.stream.helpers import soon

NOW = 1_750_000_000.0  # 2025-06-15T15:06:40Z


def leaves() -> list[tuple[str, ...]]:
    """Every command by its words, those of groups too."""
    context = click.Context(streamiter)
    found: list[tuple[str, ...]] = []
    for name in COMMANDS:
        command = streamiter.get_command(context, name)
        if isinstance(command, click.Group):
            found += [(name,), *((name, child) for child in command.list_commands(context))]
        else:
            found.append((name,))
    return found


@pytest.mark.parametrize("words", leaves(), ids=" ".join)
def test_help_has_examples_that_parse(words):
    """Each example is parsed as it stands: an option that was renamed does not stay in one."""
    import shlex

    done = CliRunner().invoke(streamiter, [*words, "--help"])
    assert done.exit_code == 0
    assert "Examples:\n" in done.stdout and ("--debug" in done.stdout or words in (("token",), ("leases",)))
    examples = [
        line.strip() for line in done.stdout[done.stdout.index("Examples:\n") :].splitlines()[1:] if line.strip()
    ]
    ours = [example for example in examples if example.startswith("streamiter ")]
    assert ours
    for example in ours:
        parts = shlex.split(example, comments=False)
        cut = next((place for place, part in enumerate(parts) if part in ("|", "||", ">", ">>", "<")), len(parts))
        check_parses(parts[1:cut])


def check_parses(arguments: list[str]) -> None:
    group: click.Command = streamiter
    with click.Context(streamiter) as root:
        context = root
        while isinstance(group, click.Group):
            name, *arguments = arguments
            command = group.get_command(context, name)
            assert command is not None, name
            group = copy.deepcopy(command)
        context = click.Context(group, parent=root, info_name=group.name)
        parser = group.make_parser(context)
        for parameter in group.params:  # files of examples are not there
            if isinstance(parameter.type, click.Path):
                parameter.type = click.STRING
        values, left, order = parser.parse_args(arguments)
        for parameter in click.core.iter_params_for_processing(order, group.get_params(context)):
            if not (parameter.name == "help" or parameter.is_eager):
                _, left = parameter.handle_parse_result(context, values, left)
        assert not left


def test_the_list_of_commands_says_what_each_does():
    done = CliRunner().invoke(streamiter, ["--help"])
    lines = done.stdout.splitlines()
    names = [
        line.split()[0] for line in lines[lines.index("Commands:") + 1 :] if line[:2] == "  " and line[2:3].isalpha()
    ]
    assert [name for name in names if name in COMMANDS] == list(COMMANDS)
    version = CliRunner().invoke(streamiter, ["--version"]).stdout
    assert version.startswith("streamiter 0.")


@pytest.mark.parametrize(
    "arguments,words",
    [
        (["tial"], "there is no command 'tial'; did you mean tail?"),
        (["x"], "there is no command 'x'; the commands are: child, completion, demo, doctor"),
        (["tail"], "Missing argument 'URL'"),
        (["tail", "users", "--form", "latest"], "Did you mean one of: '--color', '--from'?"),
        (["tail", "users", "-n", "0"], "0 is not in the range: 1 or more (streamiter tail --help"),
        (["tail", "users", "-n", "five"], "'five' is not a whole number"),
        (["tail", "users", "--from"], "streamiter tail: Option '--from' requires an argument."),
        (["simulate", "--port", "99999"], "99999 is not in the range: 0 to 65535"),
        (["simulate", "--speed", "0"], "0.0 is not in the range 0<x<=1000000"),
        (["simulate", "--speed", "x"], "'x' is not a number"),
        (["shards", "users", "--svg", "a", "--png", "./a"], "--svg and --png name the same file"),
        (["export", "users", "--to", "c", "--part-seconds", "9"], "--part-seconds is for --follow"),
        (["export", "users"], "Missing option '--to'"),
        (["token", "shew", "x"], "No such command 'shew'"),
        (["shards", "users", "--token-file", "nowhere"], "'nowhere' does not exist"),
    ],
)
def test_misuse_is_one_line_and_exit_code_2(arguments, words):
    done = CliRunner().invoke(streamiter, arguments)
    assert done.exit_code == 2
    assert words in done.stderr and "--help shows the options" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_what_was_not_foreseen_is_one_line_too_and_debug_shows_where():
    from streamiter.cli.setting import Setting

    def find(*_: object, **__: object) -> None:
        raise ZeroDivisionError("a bug \x1b[2J")

    done = CliRunner().invoke(streamiter, ["tail", "users"], obj=Setting(find=find))
    assert done.exit_code == 1
    assert done.stderr.splitlines() == [
        "streamiter: unexpected error: a bug \\x1b[2J; --debug shows where it comes from [ZeroDivisionError]"
    ]
    done = CliRunner().invoke(streamiter, ["tail", "users", "--debug"], obj=Setting(find=find))
    assert "Traceback (most recent call last)" in done.stderr


def test_errors_name_options_where_the_library_names_arguments():
    gap = RecordsExpired("S1", "record 7", reason="the service has trimmed what comes next")
    assert "stream." not in in_our_words(gap) and "--skip-gaps" in in_our_words(gap)
    texts = ["pass region=, or set AWS_DEFAULT_REGION", "or AWS_PROFILE, or pass session= or client="]
    for text in texts:
        assert "=" not in in_our_words(CredentialsMissing(text))


def test_the_librarys_messages_have_not_moved_away_from_their_translations():
    """Each text that is translated still stands in the library, word for word."""
    from pathlib import Path

    from streamiter.cli.terminal.words import _OPTIONS

    package = Path(sys.modules["streamiter"].__file__ or "").parent
    source = "".join(path.read_text("utf-8") for path in package.rglob("*.py") if path.name != "words.py")
    joined = re.sub(r'"\s*\n\s*f?"', "", source)  # texts over two lines
    for theirs in _OPTIONS:
        # Some are put together: their longest piece of fixed text is looked for.
        piece = max(re.split(r"[;(]", theirs), key=len).strip()
        assert piece in joined, theirs


# -- times


@pytest.mark.parametrize(
    "text,seconds",
    [
        ("now", 0),
        ("2 hours ago", -7200),
        ("an hour ago", -3600),
        ("90m", -5400),
        ("1h30m", -5400),
        ("1 day and 2 hours ago", -93600),
        ("1.5 h", -5400),
        ("30 SECONDS ago", -30),
        ("in 5 minutes", 300),
        ("2025-06-15 15:06:40", 0),
        ("2025-06-15T15:06:40Z", 0),
        ("2025-06-15T17:06:40+02:00", 0),
        ("2025-06-15", -54400),
        ("1750000000", 0),
        ("1750000000.5", 0.5),
        ("1750000000000", 0),
        ("2 weeks ago", -14 * 86400),
        ("90s", -90),
        ("30m ago", -1800),
        ("  2   HOURS\tago ", -7200),
        ("today", -54400),
        ("yesterday", -54400 - 86400),
        ("tomorrow", -54400 + 86400),
        ("yesterday 14:00", -4000 - 86400),
        ("Yesterday at 14:00", -4000 - 86400),
        ("15:06", -40),
        ("9:06", -21640),
        ("15:06:40.5", 0.5 - 86400),  # today's is yet to come
        ("16:00", 3200 - 86400),
        ("17:06:40+02:00", 0),
        ("17:06:40 +0200", 0),
        ("15:06:40 utc", 0),
        ("15:06:40Z", 0),
        ("2025-06-15 15:06", -40),
        ("2025-06-15 15:06:40.250", 0.25),
        ("2025-06-15 -05:00", -54400 + 5 * 3600),
        ("2025-06-15 23:06:40 +08:00", 0),
    ],
)
def test_times_are_read_as_a_person_writes_them(text, seconds):
    assert parse_moment(text, NOW).timestamp() == NOW + seconds
    assert parse_moment("5 min", NOW, sign=1).timestamp() == NOW + 300
    assert parse_moment("16:00", NOW, sign=1).timestamp() == NOW + 3200, "an end may be yet to come"


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "soon",
            "2 fortnights ago",
            "5",
            "ago",
            "1h tomorrow",
            "2025-13-01",
            "99999999999 days ago",
            "-1h",
            "2025",
        ),
        *("24:00", "10:75", "10", "10am", "today14:00", "2025-06-1510:30", "z", "10:30 +99:00", "10:30 +02:75", "９0s"),
        *("18.11.2026", "0001-01-01 00:00 +14:00", "at 10:30", "t10:30", "10:30 yesterday"),
    ],
)
def test_what_is_no_time_is_told(text):
    with pytest.raises(ValueError, match="is not a time: write '2 hours ago'"):
        parse_moment(text, NOW)


def test_the_forms_that_errors_list_are_forms():
    for form in FORMS:
        assert parse_moment(form.strip("'"), NOW).tzinfo is not None
        assert form in HOW


@pytest.mark.parametrize("words", [("tail", "users"), ("export", "users", "--to", "x"), ("top", "users")])
def test_commands_take_times_by_one_grammar_and_list_its_forms(words):
    done = CliRunner().invoke(streamiter, [*words, "--from", "someday"])
    assert done.exit_code == 2 and f"'someday' is not a time: write {HOW}; or trim_horizon or latest" in done.stderr
    done = CliRunner().invoke(streamiter, ["shards", "users", "--svg", "x", "--since", "someday"])
    assert done.exit_code == 2 and f"'someday' is not a time: write {HOW}" in done.stderr


@pytest.mark.parametrize("words", [("tail", "users"), ("export", "users", "--to", "x")])
def test_an_end_before_the_begin_is_a_mistake(words):
    done = CliRunner().invoke(streamiter, [*words, "--from", "2025-06-15 14:00", "--until", "2025-06-15T13:00Z"])
    assert done.exit_code == 2 and done.stderr.count("\n") == 1
    assert "--until (2025-06-15 13:00:00 UTC) is not after --from (2025-06-15 14:00:00 UTC)" in done.stderr


def test_ages_are_short():
    told = {
        0: "0 s",
        59.9: "59 s",
        60: "1 m",
        61: "1 m 1 s",
        3600: "1 h",
        7260: "2 h 1 m",
        86400: "1 d",
        180_000: "2 d 2 h",
        -5: "0 s",
    }
    assert {seconds: age(seconds) for seconds in told} == told


# -- processes


def test_completion_completes_in_a_real_bash(tmp_path):
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    (bin_folder / "streamiter").write_text(f'#!/bin/sh\nexec {sys.executable} -m streamiter "$@"\n')
    (bin_folder / "streamiter").chmod(0o755)
    env = environment() | {"PATH": f"{bin_folder}:{os.environ['PATH']}"}

    def complete(*words: str) -> list[str]:
        script = 'eval "$(streamiter completion bash)"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); '
        script += '_streamiter_completion streamiter; printf "%s\\n" "${COMPREPLY[@]}"'
        done = subprocess.run(
            ["bash", "-c", script, "bash", *words], capture_output=True, text=True, env=env, check=True
        )
        return done.stdout.split()

    assert complete("streamiter", "ta") == ["tail"]
    assert "--token-file" in complete("streamiter", "tail", "users", "--to")
    assert complete("streamiter", "tail", "users", "--from", "la") == ["latest"]
    assert complete("streamiter", "export", "users", "--format", "p") == ["parquet"]


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_completion_for_other_shells(shell):
    script = CliRunner().invoke(streamiter, ["completion", shell]).stdout
    assert f"_STREAMITER_COMPLETE={shell}_complete" in script
    words = {"COMP_WORDS": "streamiter sh", "COMP_CWORD": "sh" if shell == "fish" else "1"}
    env = environment(_STREAMITER_COMPLETE=f"{shell}_complete", **words)
    done = subprocess.run(
        command_line(), capture_output=True, text=True, env=env | {"_STREAMITER_COMPLETE": ""}, check=False
    )
    assert done.returncode in (0, 2), "without the variable it is the command"
    code = "import sys; sys.argv = ['streamiter']; from streamiter.cli.main import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, check=False)
    assert "shards" in done.stdout


def test_a_zsh_that_nobody_set_up_is_set_up_first():
    lines = CliRunner().invoke(streamiter, ["completion", "zsh"]).stdout.splitlines()
    assert lines[0] == "#compdef streamiter"
    place = lines.index("    compdef _streamiter_completion streamiter")
    assert "functions[compdef]" in lines[place - 1] and "compinit" in lines[place - 1]


def test_completion_of_an_unknown_shell_is_asked_for():
    done = CliRunner().invoke(streamiter, ["completion"], env={"SHELL": "/bin/tcsh"})
    assert done.exit_code == 2 and "bash, zsh or fish" in done.stderr


def test_the_demo_is_a_command():
    done = subprocess.run(
        command_line("demo", "--fast"), capture_output=True, text=True, env=environment(), check=False
    )
    assert done.returncode == 0, done.stderr
    assert "same order as without the kill" in done.stdout
    output = Narrow()
    with subprocess.Popen(command_line("demo"), stdout=output.theirs.fileno(), env=environment()) as process:
        output.read_until(b"09:00:0")
        process.send_signal(signal.SIGINT)
        output.drain()
        process.wait(100)
    assert process.returncode == 130


def test_ctrl_c_while_it_loads_is_quiet_too():
    script = (
        "import sys\n"
        "class Interrupted:\n"
        "    def __getattr__(self, name): raise KeyboardInterrupt\n"
        "sys.modules['streamiter.cli.catalogue'] = Interrupted()\n"
        "from streamiter.cli.main import main\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=environment(), timeout=250
    )
    assert (done.returncode, done.stderr) == (130, "")


@pytest.mark.realtime
@pytest.mark.parametrize(
    "words", [("tail",), ("shards",), ("top",), ("doctor",), ("export", "--format", "jsonl", "--to", "out")]
)
def test_ctrl_c_does_not_wait_for_a_call_that_hangs(served: Simulator, tmp_path, words):
    served.shape("S1 ~ S2")
    served.put("S1")
    served.fault("GetRecords", kind="hang", times=None)
    with start(served, words[0], "users", *words[1:], cwd=tmp_path) as process:
        soon(lambda: served.calls.by_operation["GetRecords"] > 0, seconds=60)
        process.send_signal(signal.SIGINT)
        since = time.monotonic()
        _, errors = process.communicate(timeout=100)
    assert process.returncode == 130, errors
    assert time.monotonic() - since < 15, "a call that hangs is given up after 20 s"
    assert "Traceback" not in errors


def test_help_fits_a_narrow_terminal():
    for columns in (32, 40, 80):
        done = CliRunner().invoke(streamiter, ["--help"], env={"COLUMNS": str(columns)})
        assert max(map(len, done.stdout.splitlines())) < columns
