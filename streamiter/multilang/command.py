"""The command: how a child is run: its program and arguments, its folder, its environment, its limits."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, Final

from streamiter.errors import InvalidOption
from streamiter.multilang.wire import LINE_LIMIT, Form

#: The variables that each child gets from the daemon's environment: where programs and libraries lie, and the language.
PASSED: Final = (
    *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "TZ", "LANG", "LANGUAGE", "LC_*", "LD_LIBRARY_PATH"),
    *("PYTHONPATH", "PYTHONUNBUFFERED", "PYTHONUTF8", "VIRTUAL_ENV", "NODE_PATH", "JAVA_HOME", "CLASSPATH", "GEM_PATH"),
)


@dataclass(frozen=True, slots=True)
class Command:
    """How a child is run. `environment` is its whole environment; `seconds` is how long it may take to answer a message."""

    words: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)
    folder: str | None = None
    memory_bytes: int = 0  # of data, heap and stack, for each of its processes; 0: no limit
    line_limit: int = LINE_LIMIT  # a longer line of its output is left out
    seconds: float | None = None
    grace_seconds: float = 5.0  # how long it may live on after we closed its input
    form: Form | None = None  # None: its first checkpoint tells

    @property
    def name(self) -> str:
        """The program's name, without its folder."""
        return os.path.basename(self.words[0])


def command_of(words: Sequence[str], **options: Any) -> Command:
    """The command, with Command's options.

    Raises InvalidOption if there is no such program: else one child after the other would start and fail.
    """
    command = Command(tuple(words), **options)
    if not command.words or not command.words[0]:
        raise InvalidOption("no command is given: say what to run for each shard, behind --")
    folder = command.folder
    if folder is not None and not os.path.isdir(folder):
        raise InvalidOption(f"the working folder {folder} is not there")
    program, path = command.words[0], command.environment.get("PATH")
    if os.sep in program:
        program = os.path.join(folder or "", program)  # where the child's process will look for it
    if shutil.which(program, path=path or os.defpath) is None:
        raise InvalidOption(f"there is no program {command.words[0]!r} that can be run (PATH is {path or os.defpath})")
    return command


def environment_of(asked: Sequence[str], around: Mapping[str, str]) -> dict[str, str]:
    """A child's environment: PASSED, and the variables in `asked`: each NAME, NAME=VALUE, or a pattern such as AWS_*."""
    seen = {name: value for name, value in around.items() if any(fnmatchcase(name, told) for told in PASSED)}
    for told in asked:
        name, equals, value = told.partition("=")
        if not name:
            raise InvalidOption(f"--env {told!r}: write NAME, NAME=VALUE, or a pattern such as 'AWS_*'")
        found = {name: value} if equals else {one: around[one] for one in around if fnmatchcase(one, name)}
        if not found and "*" not in name:
            raise InvalidOption(f"--env {name}: there is no such variable; write {name}=VALUE to make it")
        seen |= found
    return seen
