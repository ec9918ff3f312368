"""Finding: imports the app that MODULE:APP names; if it is not there, the error lists the apps that are."""

from __future__ import annotations

import os
import sys
import traceback
from importlib import import_module
from types import ModuleType

import click

from streamiter.app import App


def find_app(target: str) -> App:
    """The app; the current folder is looked through first. UsageError where there is no such module, name or App."""
    name, _, path = target.partition(":")
    if not name or not path:
        raise click.UsageError(f"{target!r} names no app: say MODULE:APP, such as shop:app for the `app` in shop.py")
    if name.endswith(".py") or os.sep in name:
        dotted = name.removesuffix(".py").strip(os.sep + ".").replace(os.sep, ".")
        raise click.UsageError(f"{name!r} is a file: say its module, {dotted}:{path}")
    module = _module(name)
    found: object = module
    for part in path.split("."):
        if not hasattr(found, part):
            raise click.UsageError(f"{name} has no {path!r}; {_apps_of(module)}")
        found = getattr(found, part)
    if not isinstance(found, App):
        raise click.UsageError(f"{target} is no App, but of type {type(found).__name__}; {_apps_of(module)}")
    return found


def _module(name: str) -> ModuleType:
    here = os.getcwd()
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise _broken(name, error) from error  # one that it imports
        raise click.UsageError(
            f"there is no module {error.name!r}, neither in the current folder nor among what is installed"
        ) from error
    except Exception as error:
        raise _broken(name, error) from error


def _broken(name: str, error: Exception) -> click.ClickException:
    if isinstance(error, SyntaxError):
        place, told = f"{error.filename}, line {error.lineno}", error.msg
    else:
        last = traceback.extract_tb(error.__traceback__)[-1]
        place, told = f"{last.filename}, line {last.lineno}", " ".join(str(error).split())
    return click.ClickException(f"{name} cannot be imported: {told} ({place}); --debug shows the traceback")


def _apps_of(module: ModuleType) -> str:
    names = [name for name, value in vars(module).items() if isinstance(value, App)]
    return f"its apps: {', '.join(names)}" if names else "it has no App at its top level"
