"""Finding: imports what MODULE:NAME names on a command line; the current folder is looked through first."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from types import ModuleType

from streamiter.errors import InvalidOption


class NotFound(InvalidOption):
    """There is no such module or name. What a module raises while it is imported is none of these."""


def find(target: str, what: str, example: str) -> tuple[ModuleType, object]:
    """The module, and what has the name in it, which may have dots. `what` and `example` are for the message."""
    name, _, path = target.partition(":")
    if not name or not path:
        raise NotFound(f"{target!r} names no {what}: say {example}")
    if name.endswith(".py") or os.sep in name:
        dotted = name.removesuffix(".py").strip(os.sep + ".").replace(os.sep, ".")
        raise NotFound(f"{name!r} is a file: say its module, {dotted}:{path}")
    module = _module(name)
    found: object = module
    for part in path.split("."):
        if not hasattr(found, part):
            raise NoSuchName(module, path)
        found = getattr(found, part)
    return module, found


class NoSuchName(NotFound):
    """The module is there, the name is not."""

    def __init__(self, module: ModuleType, path: str) -> None:
        self.module = module
        super().__init__(f"{module.__name__} has no {path!r}")


def _module(name: str) -> ModuleType:
    here = os.getcwd()
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise  # one that it imports
        raise NotFound(
            f"there is no module {error.name!r}, neither in the current folder nor among what is installed"
        ) from error
