"""`python -m streamiter.multilang MODULE:NAME`: the child, with nothing but the standard library and your module."""

from __future__ import annotations

import argparse
import sys

from streamiter.errors import InvalidOption
from streamiter.multilang.processor.command import serve
from streamiter.multilang.processor.ending import GRACE
from streamiter.multilang.processor.running import PATIENCE
from streamiter.multilang.wire import Form


def main() -> int:
    """The exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m streamiter.multilang",
        description="Run a processor as the child of a MultiLang daemon, on standard input and output.",
    )
    parser.add_argument("target", metavar="MODULE:NAME", help="a function, a class, or an App")
    parser.add_argument("--only", metavar="NAME", help="this processor of the app")
    parser.add_argument("--checkpoint", metavar="WHEN", help="batch, never, or every so many seconds")
    parser.add_argument("--patience", type=float, default=PATIENCE, metavar="SECONDS", help="for throttled checkpoints")
    parser.add_argument("--grace", type=float, default=GRACE, metavar="SECONDS", help="once the daemon is gone")
    parser.add_argument("--form", choices=[form.value for form in Form], help="what the daemon speaks; else found out")
    asked = parser.parse_args()
    try:
        return serve(**vars(asked))
    except InvalidOption as error:
        parser.error(str(error))


if __name__ == "__main__":
    sys.exit(main())
