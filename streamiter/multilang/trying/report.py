"""The report on a child that was tried out: plain lines, or JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from streamiter.multilang.trying.player import Verdict
from streamiter.multilang.trying.rules import Finding, Severity

_WIDTH = 42
ENDED = (
    "died",
    "no-answer",
    "lives-on",
    "exit-code",
    "closed-output",
    "checkpoint-refused",
)  # where its words may help


def lines_of(verdict: Verdict, before: Sequence[Verdict] = ()) -> Iterator[str]:
    """The lines on one scenario: one if all is well, else one more for each finding, and the end of standard error.

    `before`: the results that were printed already. The same text of standard error is printed once.
    """
    mark = "FAULT" if verdict.faults else "warn" if verdict.findings else "ok"
    told = f"{_counted(verdict.answers, 'answer')} in {verdict.seconds:.2f} s"
    if verdict.first_answer_seconds is not None:
        told += f", the first after {verdict.first_answer_seconds:.2f} s"
    yield f"{mark:<6}{verdict.scenario:<{_WIDTH}}{told}"
    for finding in verdict.findings:
        kind = "" if finding.severity is Severity.FAULT else "warning: "
        yield f"        {kind}{finding.where}: {finding.what} [{finding.rule}]"
        if finding.line is not None:
            yield f"            its line: {_printable(finding.line)}"
    if verdict.left_out:
        yield f"        and {verdict.left_out} more of the same"
    if not verdict.stderr or not any(finding.rule in ENDED for finding in verdict.findings):
        return
    same = next((told.scenario for told in before if told.stderr == verdict.stderr), None)
    if same is not None:
        yield f"        its standard error: as in {same!r}"
    else:
        yield "        the end of its standard error:"
        yield from (f"            {_printable(line)}" for line in verdict.stderr)


def summary(verdicts: Sequence[Verdict]) -> str:
    """The last line."""
    faults, warnings = counts(verdicts)
    bad = sum(bool(verdict.faults) for verdict in verdicts)
    told = f"{_counted(len(verdicts), 'scenario')}: {_counted(faults, 'fault')} in {bad}" if faults else "no faults"
    return f"{told}, {_counted(warnings, 'warning')}" if warnings else told


def counts(verdicts: Sequence[Verdict]) -> tuple[int, int]:
    """Faults and warnings."""
    faults = sum(verdict.faults for verdict in verdicts)
    return faults, sum(len(verdict.findings) for verdict in verdicts) - faults


def as_json(command: Sequence[str], verdicts: Sequence[Verdict]) -> str:
    """All of it, for a program."""
    faults, warnings = counts(verdicts)
    told = {
        "command": list(command),
        "ok": not faults,
        "faults": faults,
        "warnings": warnings,
        "scenarios": [_fields(verdict) for verdict in verdicts],
    }
    return json.dumps(told, indent=2)


def _fields(verdict: Verdict) -> dict[str, Any]:
    return {
        "scenario": verdict.scenario,
        "ok": not verdict.faults,
        "answers": verdict.answers,
        "seconds": round(verdict.seconds, 3),
        "first_answer_seconds": verdict.first_answer_seconds and round(verdict.first_answer_seconds, 3),
        "findings": [_finding(finding) for finding in verdict.findings],
        "left_out": verdict.left_out,
        "stderr": list(verdict.stderr),
    }


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "rule": finding.rule,
        "severity": finding.severity.value,
        "where": finding.where,
        "what": finding.what,
        "line": finding.line,
    }


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _printable(text: str) -> str:
    from streamiter.terminal import printable

    return printable(text)
