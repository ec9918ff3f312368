"""Trying out: `streamiter multilang --try`, which plays scripts of messages to a child, and tells what it does wrong."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from streamiter.cli.terminal.outputs import tell
from streamiter.multilang.trying import Verdict, as_json, lines_of, summary, try_child
from streamiter.multilang.trying.player import TIMEOUT
from streamiter.multilang.wire import Form

FAULTY = 1


def try_out(
    command: Sequence[str],
    *,
    environment: Mapping[str, str],
    folder: str | None,
    seconds: float | None,
    form: Form | None,
    payloads: Path | None,
    is_json: bool,
) -> int:
    """Prints a report; the exit code, 1 where the child has a fault. Warnings alone are no fault."""
    verdicts: list[Verdict] = []
    found = try_child(
        command,
        payloads=() if payloads is None else payloads_in(payloads),
        timeout=TIMEOUT if seconds is None else seconds,
        form=Form.NEWER if form is None else form,
        environment=environment,
        folder=folder,
    )
    for verdict in found:
        if not is_json:
            tell("\n".join(lines_of(verdict, verdicts)))
            sys.stdout.flush()
        verdicts.append(verdict)
    tell(as_json(command, verdicts) if is_json else summary(verdicts))
    return FAULTY if any(verdict.faults for verdict in verdicts) else 0


def payloads_in(file: Path) -> list[bytes]:
    """The file's lines, each the payload of a record."""
    lines = [line for line in file.read_bytes().split(b"\n") if line]
    if not lines:
        raise click.UsageError(f"{file} has no line: write a payload on each, as your processor reads it")
    return lines
