"""A racer: the process that changes a row which others change, too; it prints the versions that it wrote."""

from __future__ import annotations

import json
import sys

from streamiter.store import open_store
from streamiter.testing.stores.together import WINS, race

if __name__ == "__main__":
    with open_store(sys.argv[1]) as opened:
        json.dump(race(opened, sys.argv[2], WINS), sys.stdout)
