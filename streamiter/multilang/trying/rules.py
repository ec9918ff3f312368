"""The rules that a child can break: how bad each is, and the words of its finding."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final


class Severity(Enum):
    """How bad it is."""

    FAULT = "fault"  # Java's daemon ends itself, waits for ever, or loses records or the shard's children
    WARNING = "warning"  # it works, by luck or as long as nothing rare happens


@dataclass(frozen=True, slots=True)
class Rule:
    """One thing that a child must not do."""

    severity: Severity
    what: str


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong, and where."""

    rule: str
    severity: Severity
    where: str
    what: str
    line: str | None = None


FAULT, WARNING = Severity.FAULT, Severity.WARNING

RULES: Final[Mapping[str, Rule]] = {
    # answers
    "wrong-answer": Rule(FAULT, "answered {given}, where {wanted} was due{twice}"),
    "no-answer": Rule(FAULT, "gave no answer within {seconds} s{rest}"),
    "answer-unasked": Rule(FAULT, "answered when nothing was asked; Java's daemon takes it for its next answer"),
    # checkpoints
    "checkpoint-refused": Rule(FAULT, "asked for a checkpoint that is refused: {why}"),
    "checkpoint-untimely": Rule(FAULT, "asked for a checkpoint where none can be kept"),
    "checkpoint-unasked": Rule(FAULT, "asked for a checkpoint when no action was under way"),
    "no-checkpoint-at-end": Rule(
        FAULT, "kept no place at the shard's end; under Java, the shard's children never start"
    ),
    "no-checkpoint": Rule(WARNING, "kept no place before it leaves: its records come again"),
    # standard output
    "chatter": Rule(WARNING, "wrote to standard output, which belongs to the protocol: write to standard error"),
    "null-line": Rule(FAULT, "wrote the line `null`, which ends Java's daemon with all its children"),
    "text-before-message": Rule(FAULT, "wrote text before a message, on the same line: no daemon finds the message"),
    "text-behind-message": Rule(WARNING, "wrote more behind a message, on the same line"),
    "broken-message": Rule(FAULT, "wrote a message that no daemon understands"),
    "unknown-field": Rule(
        FAULT, "sent fields that no daemon knows ({names}): Java's leaves out the line, and waits on"
    ),
    "not-utf-8": Rule(WARNING, "wrote a line that is not UTF-8 to standard output"),
    "line-too-long": Rule(WARNING, "wrote a line of more than {bytes:,} bytes to standard output"),
    "closed-output": Rule(FAULT, "closed its standard output and lives on: it can answer no more"),
    # the process
    "died": Rule(FAULT, "ended with {how} {when}"),
    "lives-on": Rule(FAULT, "did not exit within {seconds} s of the end of its input"),
    "exit-code": Rule(WARNING, "ended with {how} when its input had ended: 0 says that all is well"),
}
