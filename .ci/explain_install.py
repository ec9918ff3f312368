"""Reads pip's log of an install that failed, and says which package it was about and what to try.

`./dev` runs it: `python .ci/explain_install.py FILE`. It needs nothing but Python, since nothing else may be there.
"""

from __future__ import annotations

import platform
import re
import sys
from collections.abc import Callable
from pathlib import Path

# The first that fits names the package. A pin comes first: where pip cannot have it, it blames who asked for the package.
PACKAGE = (
    r"The user requested \(constraint\) (?P<name>[^\s;]+)",
    r"No matching distribution found for (?P<name>[^\s;]+)",
    r"Cannot install (?P<name>.+?) because these package versions have conflicting dependencies",
    r"Failed building (?:editable|wheel) for (?P<name>\S+)",
)
WHATEVER = "a package"

OTHER_PYTHON = "take another Python, 3.11 to 3.13: PYTHON=/path/to/python3.12 ./dev"
OTHER_INDEX = "see whether PIP_NO_INDEX or PIP_INDEX_URL is set, and whether your index has this version"


def sign(pattern: str) -> Callable[[str, str], bool]:
    return lambda log, _: re.search(pattern, log) is not None


def wants_other_python(log: str, package: str) -> bool:
    """Whether pip passed over just this version because of the Python that runs here."""
    name, _, version = package.partition("==")
    spelled = re.sub(r"[-_.]+", "[-_.]+", name)
    passed_over = rf"requires a different Python .*/{spelled}-{re.escape(version)}[-.]"
    ignored = (
        rf"(?s)Ignored the following versions that require a different python.*{re.escape(version)} Requires-Python"
    )
    return bool(version) and (sign(f"(?i){passed_over}")(log, "") or sign(ignored)(log, ""))


# The first that fits is the cause: what happened, and what to try.
CAUSES: tuple[tuple[Callable[[str, str], bool], str, str], ...] = (
    (
        sign(r"No space left on device"),
        "the disk is full",
        "free some space: the demo takes 0.1 GB, everything 1.5 GB; TMPDIR names another folder for temporary files",
    ),
    (
        sign(r"Permission denied"),
        "pip may not write a file",
        "see who owns .venv and pip's cache (PIP_CACHE_DIR), and make your user their owner",
    ),
    (
        wants_other_python,
        "this version does not run on Python {python}",
        OTHER_PYTHON,
    ),
    (
        sign(r"CERTIFICATE_VERIFY_FAILED|SSLError|certificate verify failed"),
        "this Python does not know the certificate of the package index, or of a proxy before it",
        "name your organisation's certificates: PIP_CERT=/path/to/certificates.pem ./dev",
    ),
    (
        sign(
            r"connection broken by|Failed to establish a new connection|Max retries exceeded|Read timed out|ProxyError"
        ),
        "pip could not reach the package index",
        "check the network; behind a proxy set HTTPS_PROXY, for an index of your own PIP_INDEX_URL",
    ),
    (
        sign(r"ResolutionImpossible|No matching distribution found"),
        "the package index has no version for Python {python} that both pyproject.toml and .ci/constraints.txt allow",
        f"{OTHER_INDEX}; or {OTHER_PYTHON}",
    ),
    (
        sign(r"Failed building|subprocess-exited-with-error|metadata-generation-failed"),
        "there is no built package for Python {python} on this machine, and pip could not build one",
        OTHER_PYTHON,
    ),
)
UNKNOWN = ("pip says why above", f"run it once more; or {OTHER_PYTHON}")


def explain(log: str, python: str) -> list[str]:
    """What happened, to which package, and what to try."""
    package = next((found[-1] for pattern in PACKAGE if (found := re.findall(pattern, log))), WHATEVER)
    why, what = next(((why, what) for fits, why, what in CAUSES if fits(log, package)), UNKNOWN)
    return [f"pip could not install {package}: {why.format(python=python)}", f"to try: {what}"]


if __name__ == "__main__":
    print(*explain(Path(sys.argv[1]).read_text("utf-8", "replace"), platform.python_version()), sep="\n")
