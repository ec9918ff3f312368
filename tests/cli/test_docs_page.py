"""docs/cli.md: its commands print what it shows, its other examples parse, its pictures are those of today."""

from __future__ import annotations

import importlib.util
import re
import shlex
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.cli.test_commands import check_parses

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs" / "cli.md").read_text("utf-8")
PAGES_OF_THEIR_OWN = {"multilang": "docs/multilang.md"}


@pytest.fixture(scope="module")
def pictures() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_pictures_cli", ROOT / "docs" / "pictures" / "cli.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_the_commands_print_what_the_page_shows(pictures: ModuleType):
    with pictures.stage() as (sim, _):
        fresh = pictures.refreshed(sim, PAGE)
    assert fresh == PAGE, "python docs/pictures/cli.py renews it"
    assert PAGE.count("\n$ streamiter ") > 12


def timeless(svg: str) -> list[str]:
    """Without the line that says how long ago the last change was: how often a reader waits is the threads' affair."""
    return [element for element in svg.split("<text") if "ago" not in element]


def test_the_shards_and_the_lines_are_drawn_as_they_are_today(pictures: ModuleType, tmp_path: Path, monkeypatch):
    monkeypatch.setattr(pictures, "HERE", tmp_path)
    with pictures.stage() as (sim, _):
        pictures.draw_tail(sim)
        pictures.draw_shards(sim)
    for name in ("cli-tail.svg", "cli-shards.svg"):
        drawn, kept = ((folder / name).read_text("utf-8") for folder in (tmp_path, ROOT / "docs" / "pictures"))
        assert timeless(drawn) == timeless(kept), f"{name}: python docs/pictures/cli.py renews it"
    assert (tmp_path / "cli-shards.png").stat().st_size > 50_000
    assert "http://" not in re.sub(r"http://www\.w3\.org/\S+", "", (tmp_path / "cli-tail.svg").read_text("utf-8"))


def test_a_minute_of_top_is_drawn(pictures: ModuleType, tmp_path: Path, monkeypatch):
    monkeypatch.setattr(pictures, "HERE", tmp_path)
    with pictures.stage() as (sim, shop):
        pictures.draw_top(sim, shop, seconds=5)
    assert "lineage" in (tmp_path / "cli-top.svg").read_text("utf-8")


def test_commands_in_other_blocks_parse():
    blocks = re.findall(r"(?ms)^```bash[^\n]*\n(.*?)^```", PAGE)
    inline = re.findall(r"`(streamiter [^`]*)`", PAGE)
    lines = [line for block in blocks for line in block.splitlines() if line.startswith("streamiter ")]
    lines += [line for line in inline if "COMMAND" not in line]
    assert len(lines) > 5
    for line in lines:
        words = shlex.split(line, comments=True)
        check_parses(words[1 : words.index(">>") if ">>" in words else None])


def test_every_command_and_option_is_on_the_page():
    """What --help lists is told here, too; what everybody knows aside."""
    import click

    from streamiter.cli.catalogue import COMMANDS, streamiter

    context = click.Context(streamiter)
    for name in COMMANDS:
        assert f"streamiter {name}" in PAGE, name
        command = streamiter.get_command(context, name)
        assert command is not None
        if name == "simulate" or isinstance(command, click.Group):
            continue  # docs/simulator.md tells of the one, the page of the other's commands
        shown = [parameter for parameter in command.params if not getattr(parameter, "hidden", False)]
        options = {option for parameter in shown for option in parameter.opts if option.startswith("--")}
        page = PAGE + ((ROOT / PAGES_OF_THEIR_OWN[name]).read_text("utf-8") if name in PAGES_OF_THEIR_OWN else "")
        missing = {
            option for option in options - {"--seed", "--fast", "--every", "--count", "--limit"} if option not in page
        }
        assert not missing, name
