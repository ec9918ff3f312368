"""docs/faq.md quotes messages as they are: every part of one that the page shows stands in the code."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs/faq.md").read_text("utf-8")
MESSAGES = re.findall(r"^### `([^`]*)`$", PAGE, re.MULTILINE)


@cache
def texts() -> list[str]:
    """Every text of the code; … stands for what is put in."""
    found = []
    for path in (ROOT / "streamiter").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.JoinedStr):
                found.append(
                    "".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values)
                )
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.append(node.value)
    return found


def quoted(message: str) -> bool:
    """Whether one text has all its parts, in this order."""
    parts = [re.escape(part.strip()) for part in message.split("…") if part.strip()]
    pattern = re.compile(".*".join(parts), re.DOTALL)
    return any(pattern.search(text) for text in texts())


@pytest.mark.parametrize("message", MESSAGES)
def test_a_message_stands_in_the_code(message):
    assert quoted(message), f"docs/faq.md quotes a message that streamiter no longer gives: {message}"


def test_a_message_of_nobody_is_seen():
    assert not quoted("there is no cake … here")
    assert len(MESSAGES) > 15


def test_each_message_has_its_answer():
    for section in re.split(r"^##+ ", PAGE, flags=re.MULTILINE)[1:]:
        heading, _, answer = section.partition("\n")
        assert answer.strip() or heading in ("Questions", "Spark", "Tokens", "When you start", "While it reads"), (
            heading
        )
