"""The command: what a child is: its program and words, its folder, what it sees of the environment, its limits."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, Final

from streamiter.errors import InvalidOption
from streamiter.multilang.wire import LINE_LIMIT, Form

#: What a child sees of the daemon's environment without being asked for: where programs and libraries lie, and its language.
PASSED: Final = (
    *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "TZ", "LANG", "LANGUAGE", "LC_*", "LD_LIBRARY_PATH"),
    *("PYTHONPATH", "PYTHONUNBUFFERED", "PYTHONUTF8", "VIRTUAL_ENV", "NODE_PATH", "JAVA_HOME", "CLASSPATH", "GEM_PATH"),
)


@dataclass(frozen=True, slots=True)
class Command:
    """What a child is. `environment` is all that it sees; `seconds` is how long it may take over one message."""

    words: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)
    folder: str | None = None
    memory_bytes: int = 0  # of data, heap and stack, in each process of it; 0: as much as there is
    line_limit: int = LINE_LIMIT
    seconds: float | None = None
    grace_seconds: float = 5.0  # from the end of its input until it is killed
    form: Form | None = None  # None: found out by its first checkpoint

    @property
    def name(self) -> str:
        """What it is called where little room is."""
        return os.path.basename(self.words[0])


def command_of(words: Sequence[str], **options: Any) -> Command:
    """The command, with Command's options, if there is such a program.

    InvalidOption where there is none, instead of children that end one by one.
    """
    command = Command(tuple(words), **options)
    if not command.words or not command.words[0]:
        raise InvalidOption("no command is given: say what to run for each shard, behind --")
    folder = command.folder
    if folder is not None and not os.path.isdir(folder):
        raise InvalidOption(f"the working folder {folder} is not there")
    program, path = command.words[0], command.environment.get("PATH")
    if os.sep in program:
        program = os.path.join(folder or "", program)  # as it will be looked for
    if shutil.which(program, path=path or os.defpath) is None:
        raise InvalidOption(f"there is no program {command.words[0]!r} that can be run (PATH is {path or os.defpath})")
    return command


def environment_of(asked: Sequence[str], around: Mapping[str, str]) -> dict[str, str]:
    """What a child sees: PASSED, and what was asked for: NAME, NAME=VALUE, or a pattern such as AWS_*."""
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
