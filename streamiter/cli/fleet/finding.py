"""Finding: imports the app that MODULE:APP names; if it is not there, the error lists the apps that are."""

from __future__ import annotations

import traceback
from types import ModuleType

import click

from streamiter.app import App
from streamiter.finding import NoSuchName, NotFound, find


def find_app(target: str) -> App:
    """The app; the current folder is looked through first. UsageError where there is no such module, name or App."""
    try:
        module, found = find(target, "app", "MODULE:APP, such as shop:app for the `app` in shop.py")
    except NoSuchName as error:
        raise click.UsageError(f"{error}; {_apps_of(error.module)}") from error
    except NotFound as error:
        raise click.UsageError(str(error)) from error
    except Exception as error:
        raise broken(target.partition(":")[0], error) from error
    if not isinstance(found, App):
        raise click.UsageError(f"{target} is no App, but of type {type(found).__name__}; {_apps_of(module)}")
    return found


def broken(name: str, error: Exception) -> click.ClickException:
    """What to say of a module that raises an error while it is imported."""
    if isinstance(error, SyntaxError):
        place, told = f"{error.filename}, line {error.lineno}", error.msg
    else:
        last = traceback.extract_tb(error.__traceback__)[-1]
        place, told = f"{last.filename}, line {last.lineno}", " ".join(str(error).split())
    return click.ClickException(f"{name} cannot be imported: {told} ({place}); --debug shows the traceback")


def _apps_of(module: ModuleType) -> str:
    names = [name for name, value in vars(module).items() if isinstance(value, App)]
    return f"its apps: {', '.join(names)}" if names else "it has no App at its top level"
