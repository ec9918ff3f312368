"""The comparison with DynamoDB Local, in a process of its own, since that listens on every interface: `unshare -rn` holds it.

STREAMITER_DYNAMODB_LOCAL=/folder/of/its/jars unshare -rn sh -c "ip link set lo up; python -m tests.testing.differential.local"
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from tests.testing.differential.compare import VIEWS, Findings, compare
from tests.testing.differential.services import dynamodb_local, simulator

VARIABLE = "STREAMITER_DYNAMODB_LOCAL"


def main() -> None:
    """Prints what was found; ends with 1 where a difference has no explanation."""
    seed = int(os.environ.get("STREAMITER_DIFFERENTIAL_SEED", "1"))
    count = int(os.environ.get("STREAMITER_DIFFERENTIAL_COUNT", "25"))
    jars = Path(os.environ[VARIABLE])
    found = Findings("DynamoDB Local")
    for view in VIEWS:  # an instance each: a second table that is written makes it say that the first one is trimmed
        with (
            tempfile.TemporaryDirectory() as folder,
            simulator() as ours,
            dynamodb_local(jars, Path(folder)) as theirs,
        ):
            compare(ours, theirs, seed=seed, count=count, views=[view], found=found)
    print(found)
    sys.exit(1 if found.unexplained else 0)


if __name__ == "__main__":
    main()
