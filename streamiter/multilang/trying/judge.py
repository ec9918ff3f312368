"""The judge: takes a child's lines, gives the next messages, and notes where the child breaks the protocol, without any I/O."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from streamiter.multilang import wire
from streamiter.multilang.trying.checkpoints import ILLEGAL, Desk
from streamiter.multilang.trying.rules import RULES, WARNING, Finding
from streamiter.multilang.trying.script import Scenario

SHOWN = 160  # how many characters of a child's line a finding shows
MOST_OF_A_KIND = 3
MOST_ASKED = 1000  # checkpoints in one action: a child that asks for more never ends, and gets no more time
CLOSED_SECONDS = 1.0  # a child that exits closes its output a moment before it is gone


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the player shall do now."""

    send: bytes = b""
    end_input: bool = False


#: The fields of a child's messages. If a line has another one, Java's daemon ignores the line, and then waits for ever.
KNOWN_FIELDS: Final[Mapping[str, frozenset[str]]] = {
    "status": frozenset({"action", "responseFor"}),
    "checkpoint": frozenset({"action", "sequenceNumber", "subSequenceNumber", "checkpoint"}),
}
REFUSED_IN: Final = (wire.Initialize, wire.LeaseLost)


@dataclass(slots=True)
class Judge:
    """The judge of one scenario. The player tells it all that happens. When `is_over`, kill a child that lives on."""

    scenario: Scenario
    form: wire.Form = wire.Form.NEWER
    timeout: float = 10.0
    findings: list[Finding] = field(default_factory=list)
    answers: int = 0
    is_over: bool = False
    deadline: float = 0.0
    _sent: int = 0  # messages of the script
    _waits: bool = False
    _input_ended: bool = False
    _output_ended: bool = False
    _throttled: int = 0
    _asked: int = 0  # checkpoints in this action
    _desk: Desk = field(init=False)
    _lines: wire.Lines = field(default_factory=wire.Lines)
    _counts: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        first = self.scenario.steps[0].action
        self._desk = Desk(first.sequence_number if isinstance(first, wire.Initialize) else None)
        self._throttled = self.scenario.throttled

    # -- what happens

    def begin(self, now: float) -> Wishes:
        """The child was started."""
        return self._go_on(now)

    def said(self, piece: bytes, now: float) -> Wishes:
        """The child wrote this to standard output."""
        send, end_input = b"", False
        for line in self._lines.feed(piece):
            wish = self._hear(line, now)
            send, end_input = send + wish.send, end_input or wish.end_input
        if self._lines.too_long:
            self._lines.too_long = 0
            self._find("line-too-long", bytes=wire.LINE_LIMIT)
        return Wishes(send, end_input)

    def closed_output(self, now: float) -> None:
        """Its standard output came to its end."""
        self._output_ended = True
        if not self._input_ended and not self.is_over:
            self.deadline = min(self.deadline, now + CLOSED_SECONDS)

    def exited(self, code: int) -> None:
        """The process is gone."""
        if self.is_over:
            return
        self.is_over = True
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        if self._waits and not (self.scenario.is_cut and self._input_ended):
            self._find("died", how=how, when=f"before it answered{self._rest_told()}")
        elif not self._input_ended:
            self._find("died", how=how, when="though its input goes on")
        elif code != 0 and not self.scenario.is_cut:
            self._find("exit-code", how=how)

    def tick(self, now: float) -> None:
        """Tells the time. Once it is past `deadline`, the child is late."""
        if self.is_over or now < self.deadline:
            return
        self.is_over = True
        if self._input_ended:
            self._find("lives-on", seconds=f"{self.timeout:g}")
        elif self._output_ended:
            self._find("closed-output")
        else:
            self._find("no-answer", seconds=f"{self.timeout:g}", rest=self._rest_told())

    # -- lines

    def _hear(self, line: bytes, now: float) -> Wishes:
        line = line.strip()
        if not line or self.is_over:
            return Wishes()
        text, fields = self._read(line)
        if fields is None:
            return Wishes()
        more = fields.keys() - KNOWN_FIELDS[fields["action"]]
        if more:
            self._find("unknown-field", text, names=", ".join(sorted(more)))
        message = wire.from_child(line)
        if isinstance(message, wire.Status):
            return self._take_status(message, text, now)
        assert isinstance(message, wire.Ask)
        return self._take_checkpoint(message, text, now)

    def _read(self, line: bytes) -> tuple[str, dict[str, Any] | None]:
        """A message's fields; None if the line is no message, which becomes a finding."""
        try:
            text = line.decode()
        except UnicodeDecodeError:
            self._find("not-utf-8", repr(line[:SHOWN]))
            return "", None
        try:
            value, end = json.JSONDecoder().raw_decode(text)
        except (ValueError, RecursionError):
            self._note_chatter(text)
            return text, None
        if value is None:
            self._find("null-line", text)
            return text, None
        action = value.get("action") if isinstance(value, dict) else None
        if not isinstance(action, str) or action not in KNOWN_FIELDS:
            self._note_chatter(text)
            return text, None
        if text[end:].strip():
            self._find("text-behind-message", text)
        return text, value

    def _note_chatter(self, text: str) -> None:
        if max(text.find('{"action"'), text.find("{'action'")) > 0:
            self._find("text-before-message", text)
        elif text.startswith("{") and "action" in text:
            self._find("broken-message", text)
        else:
            self._find("chatter", text)

    # -- messages

    def _take_status(self, status: wire.Status, text: str, now: float) -> Wishes:
        if not self._waits:
            self._find("answer-unasked", text)
            return Wishes()
        action = self._action
        wanted = wire.answer_name(action, self.form)
        if status.response_for != wanted:
            before = [wire.answer_name(step.action, self.form) for step in self.scenario.steps[: self._sent - 1]]
            twice = ": a second answer to the message before" if status.response_for in before[-1:] else ""
            self._find("wrong-answer", text, given=_name(status.response_for), wanted=_name(wanted), twice=twice)
            self.is_over = True
            return Wishes()
        if isinstance(action, wire.ShardEnded) and not self._desk.is_at_end:
            self._find("no-checkpoint-at-end", text)
        if isinstance(action, wire.ShutdownRequested) and not self._desk.taken:
            self._find("no-checkpoint", text)
        self._waits = False
        self.answers += 1
        return self._go_on(now)

    def _take_checkpoint(self, asked: wire.Ask, text: str, now: float) -> Wishes:
        if not self._waits:
            self._find("checkpoint-unasked", text)
            return Wishes()
        self._asked += 1
        if self._asked <= MOST_ASKED:
            self.deadline = now + self.timeout
        error = self._error_of(asked, text)
        return Wishes(self._line(wire.Answer(asked.sequence_number, asked.sub_sequence_number, error)))

    def _error_of(self, asked: wire.Ask, text: str) -> str | None:
        if isinstance(self._action, REFUSED_IN):
            self._find("checkpoint-untimely", text)
            return "InvalidStateException"
        if self.scenario.is_lost:
            return "ShutdownException"
        if self._throttled:
            self._throttled -= 1
            return "ThrottlingException"
        wrong = self._desk.ask(asked, is_at_end=isinstance(self._action, wire.ShardEnded))
        if wrong is None:
            return None
        self._find("checkpoint-refused", text, why=wrong)
        return ILLEGAL

    # -- the script

    @property
    def _action(self) -> wire.Action:
        """The action that was sent last."""
        return self.scenario.steps[self._sent - 1].action

    def _go_on(self, now: float) -> Wishes:
        self.deadline = now + self.timeout
        if self._sent == len(self.scenario.steps):
            self._input_ended = True
            return Wishes(end_input=True)
        step = self.scenario.steps[self._sent]
        self._sent += 1
        self._asked = 0
        self._waits = True
        if isinstance(step.action, wire.ProcessRecords) and step.action.records:
            self._desk.give(step.action.records[-1])
        self._input_ended = self.scenario.is_cut and self._sent == len(self.scenario.steps)
        return Wishes(self._line(step.action, more=step.has_more_fields), self._input_ended)

    def _line(self, message: wire.ToChild, *, more: bool = False) -> bytes:
        line = wire.to_child(message, self.form)
        return line[:-2] + b',"laterField":1}\n' if more else line

    # -- findings

    @property
    def _where(self) -> str:
        if self._input_ended and not self._waits:
            return "at the end of input"
        step = self.scenario.steps[self._sent - 1]
        about = f" ({step.about})" if step.about else ""
        place = f"{wire.answer_name(step.action, self.form)}, message {self._sent} of {len(self.scenario.steps)}{about}"
        return f"in {place}" if self._waits else f"behind {place}"

    def _find(self, rule: str, line: str | None = None, **fields: object) -> None:
        """Notes a finding; of each kind, only the first few."""
        self._counts[rule] = self._counts.get(rule, 0) + 1
        if self._counts[rule] > MOST_OF_A_KIND:
            return
        severity = WARNING if self.scenario.is_rare else RULES[rule].severity
        shown = line if line is None or len(line) <= SHOWN else f"{line[:SHOWN]}..."
        self.findings.append(Finding(rule, severity, self._where, RULES[rule].what.format(**fields), shown))

    @property
    def left_out(self) -> int:
        """How many findings were not noted, since there were enough of their kind."""
        return sum(count - MOST_OF_A_KIND for count in self._counts.values() if count > MOST_OF_A_KIND)

    def _rest_told(self) -> str:
        rest = self._lines.rest().strip()
        return f"; it wrote {len(rest)} bytes without an end of line: end messages with \\n, and flush" if rest else ""


def _name(response_for: str | None) -> str:
    return "null" if response_for is None else repr(response_for)
