"""README.md as the package's own page shows it, where neither the repository's files nor its pictures are at hand."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

ROOT = Path(__file__).parent.parent.parent
PICTURE = re.compile(r"!\[([^\]]*)\]\((?!https?:)[^)]*\)")
LINK = re.compile(r"(?<!!)\[([^\]]*)\]\((?!https?:|#)([^)]*)\)")
MARK = re.compile(r"<!--.*?-->", re.DOTALL)
NO_RUN = re.compile(r"^(```\w+) no-run\b.*$", re.MULTILINE)
NOTE = "Pages named `docs/...` come with the source distribution.\n"


class CustomMetadataHook(MetadataHookInterface):
    """Hatchling finds it by its base class, as pyproject.toml says."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Adds the readme."""
        text = standing_alone((ROOT / "README.md").read_text("utf-8"))
        metadata["readme"] = {"content-type": "text/markdown", "text": text}


def standing_alone(readme: str) -> str:
    """The text with pictures told in words, and links into the repository as names of files."""
    readme = NO_RUN.sub(r"\1", MARK.sub("", readme))
    readme = PICTURE.sub(r"*\1*", readme)
    readme = LINK.sub(r"\1 (`\2`)", readme)
    return f"{readme.rstrip()}\n\n{NOTE}"
