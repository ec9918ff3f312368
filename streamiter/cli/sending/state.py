"""The state of an import: how far a file is written, so that a run that was stopped or killed goes on there."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import click

from streamiter.tokenfile import replace_file

VERSION = 1


@dataclass
class State:
    """What is written of a file."""

    file: str
    topic: str
    line: int = 1  # all that is to be sent before this one is written
    beyond: list[int] = field(default_factory=list)  # lines behind it that are written, too
    ahead: int = 0  # lines up to this one may have been sent by a run that was killed; 0: none was
    doubtful: list[int] = field(
        default_factory=list
    )  # lines that may have been written, though their answers were lost
    sent: int = 0
    skipped: int = 0
    run: str = ""  # what the import's values are marked with
    ends: dict[str, int] = field(default_factory=dict)  # behind them stand all that may have been sent since


class StateFile:
    """Where the state is kept, written beside and renamed."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def load(self, file: str, topic: str) -> State:
        """What an earlier run left of this file and topic; else a fresh one."""
        try:
            told = json.loads(self.path.read_text("utf-8"))
        except FileNotFoundError:
            return State(file, topic)
        except (ValueError, OSError) as error:
            raise click.ClickException(f"the state file {self.path} cannot be read: {type(error).__name__}") from error
        state = self._checked(told)
        for what, found, wanted in (("file", state.file, file), ("topic", state.topic, topic)):
            if found != wanted:
                raise click.ClickException(
                    f"the state file {self.path} is of the {what} {found}, not of {wanted}: name another state file"
                )
        return state

    def save(self, state: State) -> None:
        """Replaces it, whole or not at all."""
        replace_file(self.path, json.dumps({"streamiter_import": VERSION, **asdict(state)}).encode())

    def _checked(self, told: Any) -> State:
        if not isinstance(told, dict) or told.pop("streamiter_import", None) != VERSION:
            raise click.ClickException(f"{self.path} is no state file of sendmany: name another one")
        try:
            return State(**told)
        except TypeError as error:
            raise click.ClickException(
                f"the state file {self.path} is damaged; remove it, or name another one"
            ) from error
