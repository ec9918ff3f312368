"""The site: its reference leaves nothing public out; that it builds, and its links hold, is for `./dev check`."""

from __future__ import annotations

import ast
import importlib.util
import inspect
import re
from dataclasses import fields
from pathlib import Path
from types import ModuleType

import pytest

import streamiter
import streamiter.testing
from streamiter import Stream, errors
from tests.test_surface import SURFACE

DOCS = Path(__file__).parent.parent / "docs"
REFERENCE = {path.name: path.read_text("utf-8") for path in (DOCS / "reference").glob("*.md")}
SHOWN = {name for text in REFERENCE.values() for name in re.findall(r"^::: ([\w.]+)", text, re.MULTILINE)}


@pytest.fixture(scope="module")
def hooks() -> ModuleType:
    found = importlib.util.spec_from_file_location("site_hooks", DOCS / "site/hooks.py")
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", sorted(set().union(*SURFACE.values())))
def test_every_public_name_is_in_the_reference(name):
    if hasattr(errors, name):
        assert "streamiter.errors" in SHOWN
    else:
        assert f"streamiter.{name}" in SHOWN


def test_what_testing_offers_is_in_the_reference():
    offered = {
        name for name, value in vars(streamiter.testing).items() if inspect.isclass(value) or inspect.isfunction(value)
    }
    assert offered == {
        name.removeprefix("streamiter.testing.") for name in SHOWN if name.startswith("streamiter.testing.")
    }


def test_what_spark_offers_is_in_the_reference():
    tree = ast.parse((DOCS.parent / "streamiter/spark/__init__.py").read_text("utf-8"))  # importing it takes a pyspark
    froms = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    froms = [node for node in froms if (node.module or "").startswith("streamiter.spark.")]
    offered = {alias.name for node in froms for alias in node.names}
    assert offered == {name.removeprefix("streamiter.spark.") for name in SHOWN if name.startswith("streamiter.spark.")}


def test_every_option_of_a_stream_is_explained():
    told = re.findall(r"^\| `(\w+)` \|", REFERENCE["stream.md"], re.MULTILINE)
    assert told == list(inspect.signature(Stream).parameters)


def test_a_field_is_told_with_the_comment_beside_or_above_it(hooks):
    rows = "\n".join(hooks._fields("Stats"))
    assert "| `pages` | `int` | pages of records fetched, empty ones included |" in rows
    assert re.search(
        r"\| `lag` \| `dict\[str, float\]` \| For each shard, how many seconds old .* 0 at its tip\. \|", rows
    )
    assert rows.count("\n") == len(fields(streamiter.Stats)) + 1


def test_a_page_that_fetches_from_elsewhere_is_refused(hooks):
    for wrong in [
        '<script src="https://cdn.example/x.js">',
        "<link href='//fonts.example/x.css'>",
        "<img src=http://x/y.png>",
    ]:
        assert hooks.FETCHED.search(wrong), wrong
    for right in ['<a href="https://aws.amazon.com/">', '<script src="assets/x.js">', '<link href="../assets/x.css">']:
        assert not hooks.FETCHED.search(right), right


def test_the_command_line_reference_has_every_command(hooks):
    page = "\n".join(hooks._commands())
    for name in ("tail", "shards", "export", "doctor", "simulate"):
        assert f"## streamiter {name}\n" in page
    assert page.count("Examples:") >= 5
