"""`--try`: each rule is broken on purpose, and told with its place; a child that keeps them all is told nothing of."""

from __future__ import annotations

import json
import os
import sys
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamiter.multilang import wire
from streamiter.multilang.trying import CannotStart, Severity, as_json, lines_of, scenarios, summary, try_child
from streamiter.multilang.trying.checkpoints import Desk
from streamiter.multilang.trying.judge import MOST_OF_A_KIND, Judge
from streamiter.multilang.trying.rules import RULES
from streamiter.multilang.trying.script import FIRST_NUMBER, Scenario
from tests.multilang.daemon import START, batch, number, scenario

ENDED, LOST, LEAVE = wire.ShardEnded(), wire.LeaseLost(), wire.ShutdownRequested()
COURSE = (START, batch(1, 2), ENDED)

Message = dict[str, Any]
Child = Callable[[Message], Sequence[bytes | str]]


def status(message: Message, **more: Any) -> str:
    return json.dumps({"action": "status", "responseFor": message["action"], **more}) + "\n"


def ask(sequence_number: Any = None, sub: Any = None, **more: Any) -> str:
    fields = {"action": "checkpoint", "sequenceNumber": sequence_number, "subSequenceNumber": sub, **more}
    return json.dumps(fields) + "\n"


def good(message: Message) -> list[str | bytes]:
    """Keeps the end of the shard, and each batch."""
    if message["action"] == "checkpoint":
        return []
    keeps = (
        message["action"] in ("processRecords", "shardEnded", "shutdownRequested")
        or message.get("reason") == "TERMINATE"
    )
    return [ask(), status(message)] if keeps else [status(message)]


def play(
    child: Child, script: Scenario, *, form: wire.Form = wire.Form.NEWER, code: int = 0, pieces: int = 1 << 20
) -> Judge:
    """The judge, after a child that answers each message in no time; what it does not answer is waited for."""
    judge = Judge(script, form)
    wishes = judge.begin(0.0)
    waiting = deque(wishes.send.split(b"\n")[:-1])
    is_cut = wishes.end_input
    while waiting:
        for said in child(json.loads(waiting.popleft())):
            text = said if isinstance(said, bytes) else said.encode()
            for start in range(0, len(text), pieces):
                wishes = judge.said(text[start : start + pieces], 1.0)
                waiting.extend(wishes.send.split(b"\n")[:-1])
                is_cut |= wishes.end_input
    if is_cut:
        judge.exited(code)
    elif not judge.is_over:
        judge.tick(judge.deadline)
    return judge


def rules(judge: Judge) -> list[str]:
    return [finding.rule for finding in judge.findings]


def on(action: str, *said: str | bytes) -> Child:
    """A good child that says something before its answer to this action."""
    return lambda message: [*said, *good(message)] if message["action"] == action else good(message)


def instead(action: str, *said: str | bytes) -> Child:
    return lambda message: list(said) if message["action"] == action else good(message)


@pytest.mark.parametrize("script", scenarios(), ids=lambda script: script.name)
@pytest.mark.parametrize("form", wire.Form)
def test_of_a_good_child_nothing_is_told(script, form):
    judge = play(good, script, form=form)
    assert rules(judge) == []
    assert judge.is_over
    assert judge.answers == len(script.steps)


@given(st.integers(1, 50))
def test_where_its_lines_are_cut_does_not_matter(pieces):
    assert rules(play(on("processRecords", "\n\r\n"), scenario(*COURSE), pieces=pieces)) == []


STATUS = '{"action": "status", "responseFor": "processRecords"}'
SHARD_ENDED = STATUS.replace("processRecords", "shardEnded")
CASES: dict[str, tuple[Child, str]] = {
    "wrong-answer": (instead("processRecords", SHARD_ENDED + "\n"), "in processRecords, message 2 of 3"),
    "no-answer": (instead("processRecords"), "in processRecords"),
    "answer-unasked": (on("shardEnded", ask(), SHARD_ENDED + "\n"), "at the end of input"),
    "checkpoint-refused": (on("processRecords", ask("LATEST")), "in processRecords"),
    "checkpoint-untimely": (on("initialize", ask()), "in initialize"),
    "no-checkpoint-at-end": (instead("shardEnded", SHARD_ENDED + "\n"), "in shardEnded"),
    "chatter": (on("processRecords", "hello\n"), "in processRecords"),
    "null-line": (on("processRecords", "null\n"), "in processRecords"),
    "text-before-message": (instead("processRecords", "working... " + STATUS + "\n"), "in processRecords"),
    "text-behind-message": (instead("processRecords", STATUS + " done\n"), "in processRecords"),
    "broken-message": (instead("processRecords", STATUS.replace('"', "'") + "\n"), "in processRecords"),
    "unknown-field": (instead("processRecords", STATUS.replace("{", '{"took": 3, ') + "\n"), "in processRecords"),
    "not-utf-8": (on("processRecords", b"\xff\xfe\n"), "in processRecords"),
    "line-too-long": (on("processRecords", b"x" * (wire.LINE_LIMIT + 1) + b"\n"), "in processRecords"),
}  # fmt: skip


@pytest.mark.parametrize("rule", CASES)
def test_each_rule_about_lines_is_told_with_its_place(rule):
    child, where = CASES[rule]
    judge = play(child, scenario(*COURSE))
    (found, *others) = [finding for finding in judge.findings if finding.rule == rule]
    assert found.severity is RULES[rule].severity
    assert where in found.where
    assert not others


def test_each_rule_has_a_case():
    told_below = {"checkpoint-unasked", "no-checkpoint", "closed-output", "died", "lives-on", "exit-code"}
    assert CASES.keys() | told_below == RULES.keys()


def test_a_wrong_answer_says_what_was_due():
    judge = play(instead("processRecords", '{"action":"status","responseFor":null}\n'), scenario(*COURSE))
    (found,) = judge.findings
    assert found.what == "answered null, where 'processRecords' was due"
    assert found.line == '{"action":"status","responseFor":null}'
    assert judge.is_over


def test_a_second_answer_is_told_as_what_it_is():
    judge = play(on("processRecords", STATUS + "\n"), scenario(*COURSE))
    (found,) = judge.findings
    assert found.rule == "wrong-answer"
    assert found.what == "answered 'processRecords', where 'shardEnded' was due: a second answer to the message before"


def test_an_answer_without_an_end_of_line_says_so():
    judge = play(instead("processRecords", STATUS), scenario(*COURSE))
    (found,) = judge.findings
    assert found.rule == "no-answer"
    assert "53 bytes without an end of line" in found.what


def test_a_place_may_be_kept_where_nothing_is_under_way_only_by_a_child_that_is_told_so():
    judge = Judge(scenario(START, batch(1)))
    judge.begin(0.0)
    judge.said(status({"action": "initialize"}).encode(), 0.0)
    judge.said((status({"action": "processRecords"}) + ask()).encode(), 0.0)
    assert rules(judge) == ["checkpoint-unasked"]
    assert judge.findings[0].where == "at the end of input"


def test_a_child_that_leaves_without_a_place_is_warned_of():
    judge = play(lambda message: [status(message)], scenario(START, batch(1), LEAVE, LOST))
    assert [(found.rule, found.severity) for found in judge.findings] == [("no-checkpoint", Severity.WARNING)]


@pytest.mark.parametrize("code, told", [(3, "exit code 3"), (-9, "signal 9"), (0, "exit code 0")])
def test_a_child_that_dies_over_an_action(code, told):
    judge = Judge(scenario(*COURSE))
    judge.begin(0.0)
    judge.exited(code)
    (found,) = judge.findings
    assert (found.rule, found.what) == ("died", f"ended with {told} before it answered")
    assert found.where == "in initialize, message 1 of 3"


def test_a_child_whose_output_ends_is_given_a_moment_to_end_itself():
    judge = Judge(scenario(*COURSE))
    judge.begin(0.0)
    judge.closed_output(0.5)
    judge.tick(1.4)
    assert not judge.is_over
    judge.tick(1.5)
    assert rules(judge) == ["closed-output"]


def test_the_end_of_the_input_has_to_end_it():
    script = scenario(START, batch(1))
    judge = Judge(script, timeout=3.0)
    judge.begin(0.0)
    judge.said(status({"action": "initialize"}).encode(), 0.0)
    assert judge.said(status({"action": "processRecords"}).encode(), 1.0).end_input
    judge.tick(3.9)
    assert not judge.is_over
    judge.tick(4.0)
    assert rules(judge) == ["lives-on"]
    assert rules(play(good, script, code=1)) == ["exit-code"]


def test_a_daemon_that_dies_may_take_an_answer_or_an_exit_code_with_it():
    script = scenario(START, batch(1), is_cut=True)
    assert rules(play(good, script)) == []
    assert rules(play(instead("processRecords"), script, code=1)) == []


def test_what_happens_again_and_again_is_told_some_times():
    judge = play(on("processRecords", *["hello\n"] * 10), scenario(*COURSE))
    assert rules(judge) == ["chatter"] * MOST_OF_A_KIND
    assert judge.left_out == 10 - MOST_OF_A_KIND


def test_in_what_is_rare_everything_is_a_warning():
    judge = play(instead("processRecords"), scenario(*COURSE, is_rare=True))
    assert [(found.rule, found.severity) for found in judge.findings] == [("no-answer", Severity.WARNING)]


def test_a_throttled_or_lost_checkpoint_is_answered_so():
    for options, error in (({"throttled": 1}, "ThrottlingException"), ({"is_lost": True}, "ShutdownException")):
        heard = []

        def child(message: Message, heard: list[Any] = heard) -> Sequence[str | bytes]:
            if message["action"] == "checkpoint":
                heard.append(message["error"])
            return good(message)

        play(child, scenario(START, batch(1), **options))
        assert heard == [error]


# -- checkpoints


def place(at: int, sub: int = 0) -> wire.WireRecord:
    return wire.WireRecord(b"", None, number(at), sub)


@pytest.mark.parametrize(
    "asked, wrong",
    [
        ((None, None), None),
        ((None, 7), None),
        ((number(3), 1), None),
        ((number(3), None), None),
        ((number(2), 0), None),
        ((number(3), 2), "is behind the last record given"),
        ((number(4), 0), "is behind the last record given"),
        ((number(1), 0), "is before the last checkpoint"),
        ((number(3), -1), "no sub-sequence number"),
        ((number(3), "x"), "no sub-sequence number"),
        (("", 0), "no sequence number"),
        (("-1", 0), "no sequence number"),
        (("1.5", 0), "no sequence number"),
        (("LATEST", 0), "no sequence number that a child may keep"),
        (("TRIM_HORIZON", 0), "no sequence number that a child may keep"),
        (("SHARD_END", 0), "no sequence number"),
    ],
)
def test_a_checkpoint_lies_between_the_last_one_and_the_last_record(asked, wrong):
    desk = Desk(number(1))
    desk.give(place(3, 1))
    assert desk.ask(wire.Ask(number(2), 0), is_at_end=False) is None
    why = desk.ask(wire.Ask(*asked), is_at_end=False)
    assert why is None if wrong is None else wrong in (why or "")
    assert desk.taken == 1 + (wrong is None)


def test_the_end_of_a_shard_is_kept_by_its_name_or_by_none():
    for asked in (wire.Ask(), wire.Ask("SHARD_END", 0)):
        desk = Desk("TRIM_HORIZON")
        assert desk.ask(asked, is_at_end=True) is None
        assert desk.is_at_end
    desk = Desk(None)
    desk.give(place(1))
    assert desk.ask(wire.Ask(number(1), 0), is_at_end=True) is None
    assert not desk.is_at_end


# -- scripts


def test_scripts_say_what_children_stumble_over():
    lines = [wire.to_child(step.action) for script in scenarios() for step in script.steps]
    assert any("\u2028".encode() in line for line in lines)
    assert any(line.count(b'"partitionKey"') == 10_000 for line in lines)
    assert any(len(line) > 5 << 20 for line in lines)
    assert any(b'"records":[]' in line for line in lines)
    assert any(b'"partitionKey":null' in line for line in lines)


def test_a_script_gives_the_callers_payloads_and_no_others():
    mine = [b'{"order": 1}', b'{"order": 2}']
    actions = [step.action for script in scenarios(mine) for step in script.steps]
    records = [record for action in actions if isinstance(action, wire.ProcessRecords) for record in action.records]
    assert {record.data for record in records} == set(mine)


def test_numbers_rise_within_a_shard():
    for script in scenarios():
        places = [
            (int(record.sequence_number or 0), record.sub_sequence_number)
            for step in script.steps
            if isinstance(step.action, wire.ProcessRecords)
            for record in step.action.records
        ]
        assert places == sorted(set(places))
        assert all(at > FIRST_NUMBER for at, _ in places)


# -- real processes, few

CHILD = """
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    {fault}
    if message["action"] in ("processRecords", "shardEnded"):
        print('\\n' + json.dumps({{"action": "checkpoint", "sequenceNumber": None, "subSequenceNumber": None}}), flush=True)
        sys.stdin.readline()
    print('\\n' + json.dumps({{"action": "status", "responseFor": message["action"]}}), flush=True)
{end}
"""


def child(folder: Path, fault: str = "pass", end: str = "") -> list[str]:
    """A child in a file of its own, with a fault for each message, or at its end."""
    file = folder / "child.py"
    file.write_text(CHILD.format(fault=fault, end=end))
    return [sys.executable, str(file)]


@pytest.mark.realtime
def test_a_child_in_its_own_process_is_tried_out(tmp_path):
    verdicts = list(try_child(child(tmp_path), timeout=60))
    assert [(verdict.scenario, list(verdict.findings)) for verdict in verdicts] == [
        (script.name, []) for script in scenarios()
    ]
    assert summary(verdicts) == "no faults"
    told = json.loads(as_json(["x"], verdicts))
    assert told["ok"] and len(told["scenarios"]) == len(verdicts)


@pytest.mark.realtime
def test_one_that_dies_is_told_with_its_last_words_and_those_once(tmp_path):
    fault = 'assert message["action"] != "processRecords", "a bug of yours"'
    verdicts = list(try_child(child(tmp_path, fault), timeout=60))
    lines = [line for at, verdict in enumerate(verdicts) for line in lines_of(verdict, verdicts[:at])]
    assert lines[0].startswith("FAULT a shard to its end")
    assert "in processRecords, message 2 of 9: ended with exit code 1 before it answered [died]" in lines[1]
    assert sum("AssertionError: a bug of yours" in line for line in lines) == 1
    assert "as in 'a shard to its end'" in "\n".join(lines)
    assert json.loads(as_json(["x"], verdicts))["ok"] is False


@pytest.mark.realtime
def test_one_that_answers_nothing_is_given_up_at_once_and_leaves_nothing_behind(tmp_path):
    noted = tmp_path / "pid"
    fault = "import subprocess; started = subprocess.Popen(['sleep', '600'])"
    fault += f"; open({str(noted)!r}, 'w').write(str(started.pid)); started.wait()"
    (verdict,) = try_child(child(tmp_path, fault), timeout=3)
    assert [finding.rule for finding in verdict.findings] == ["no-answer"]
    state = Path(f"/proc/{int(noted.read_text())}/stat")
    assert not state.exists() or state.read_text().split()[2] in "ZX"


@pytest.mark.realtime
def test_one_that_does_not_end_is_ended(tmp_path):
    end = "import time; time.sleep(600)"
    verdict = next(iter(try_child(child(tmp_path, end=end), timeout=5)))
    assert [finding.rule for finding in verdict.findings] == ["lives-on"]
    assert verdict.seconds < 60


def test_what_cannot_be_started_says_so(tmp_path):
    with pytest.raises(CannotStart, match="No such file"):
        list(try_child([os.fspath(tmp_path / "nothing")]))
    with pytest.raises(ValueError, match="name the command"):
        list(try_child([]))
