"""A writer: the process that appends to a log that others write, too; it prints each append that was acknowledged."""

from __future__ import annotations

import sys

from streamiter.log.locate import open_log
from streamiter.testing.logs.together import write

if __name__ == "__main__":
    write(open_log(sys.argv[1]), sys.argv[2], int(sys.argv[3]), tell=True)
