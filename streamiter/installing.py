"""Installing: the command that brings an extra, for the way in which streamiter is installed here."""

from __future__ import annotations

import json
import shlex
import sys
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname


def install_command(extra: str) -> str:
    """What to paste into a shell: it works for a release, a checkout and a wheel that lies somewhere."""
    origin = _origin()
    url = origin.get("url", "")
    if "dir_info" in origin:
        folder = url2pathname(urlsplit(url).path)
        # The interpreter's own pip, since a checkout is mostly used from an environment that no shell has activated.
        editable = " -e" if origin["dir_info"].get("editable") else ""
        return f"{shlex.quote(sys.executable)} -m pip install{editable} {_quoted(f'{folder}[{extra}]')}"
    if "archive_info" in origin:
        return f"pip install {_quoted(f'streamiter[{extra}] @ {url}')}"
    return f"pip install {_quoted(f'streamiter[{extra}]')}"


def _origin() -> dict[str, Any]:
    """Where pip has installed streamiter from, as PEP 610 has it; empty for a package index."""
    try:
        written = distribution("streamiter").read_text("direct_url.json")
    except PackageNotFoundError:  # it is not installed: it runs from a folder
        folder = Path(__file__).parent.parent
        return {"url": folder.as_uri(), "dir_info": {"editable": True}} if (folder / "pyproject.toml").exists() else {}
    return dict(json.loads(written)) if written else {}


def _quoted(text: str) -> str:
    """In single quotes always: shells give brackets a meaning of their own."""
    quoted = shlex.quote(text)
    return quoted if quoted.startswith("'") else f"'{text}'"
