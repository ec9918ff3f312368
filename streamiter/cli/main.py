"""Where the command begins: without the extra it says how to get it, and nothing else."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """The console script."""
    from streamiter.cli import loading

    loading.leave_on_ctrl_c()
    try:
        from streamiter.cli.commands import streamiter
        from streamiter.cli.ending import stop_on_signals
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in ("click", "rich"):
            raise
        sys.exit(f"streamiter: {error.name} is not installed; to get it: pip install 'streamiter[cli]'")
    except KeyboardInterrupt:
        sys.exit(130)
    if sys.stdout is None:  # closed before we began, as by `>&-`
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - for as long as we run
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    stop_on_signals()
    try:
        streamiter(prog_name="streamiter")
    finally:
        loading.leave_on_ctrl_c()
