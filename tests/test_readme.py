"""README.md stands on its own: in the repository its links lead somewhere, on the package's page it has none that cannot."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text("utf-8")
LINKS = re.findall(r"\]\(([^)#]*)[^)]*\)", README)


@pytest.fixture(scope="module")
def published() -> str:
    """The readme as a built package carries it."""
    told = subprocess.run(
        [sys.executable, "-m", "hatchling", "metadata"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=250,
    )
    metadata = json.loads(told.stdout)
    assert metadata["readme"]["content-type"] == "text/markdown"
    return metadata["readme"]["text"]


@pytest.mark.parametrize("link", sorted({link for link in LINKS if "://" not in link}))
def test_a_link_leads_to_a_file_of_the_repository(link):
    assert (ROOT / link).exists()


def test_the_published_one_has_no_link_and_no_picture_of_the_repository(published):
    assert not re.findall(r"\]\((?!https?:|#)", published)
    assert "<!--" not in published
    assert "no-run" not in published


def test_the_published_one_says_the_same(published):
    for heading in re.findall(r"^## .*$", README, re.MULTILINE):
        assert heading in published
    assert "ordering (`docs/ordering.md`)".lower() in published.lower()
    assert published.count("```") == README.count("```")


def test_no_address_is_made_up():
    """There is no site yet: whatever the readme links to outside of the repository would have to exist."""
    assert [link for link in LINKS if "://" in link] == []
