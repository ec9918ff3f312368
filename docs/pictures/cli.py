"""Runs the commands of docs/cli.md and draws its pictures: python docs/pictures/cli.py renews all; a test compares.

Everything happens by a hand-turned clock on the simulated shop of `streamiter simulate --orders`, so that it comes out the
same each time.
"""

from __future__ import annotations

import io
import math
import os
import re
import shlex
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

from click.testing import CliRunner
from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

from streamiter import Stream
from streamiter.cli.catalogue import streamiter
from streamiter.cli.live.board import Board
from streamiter.cli.live.screen import draw
from streamiter.cli.setting import Setting
from streamiter.locate import locate
from streamiter.testing import ManualClock, Simulator
from streamiter.testing.shop.orders import TABLE
from streamiter.testing.shop.shop import HISTORY_SECONDS, Shop

HERE = Path(__file__).parent
PAGE = HERE.parent / "cli.md"
SHOWN_URL = "http://127.0.0.1:8000"  # whichever port it really is
NOW = 1_750_000_000.0  # 2025-06-15T15:06:40Z
LATER = 3.0  # seconds after the last change, when somebody looks
COLUMNS = 96
BLOCK = re.compile(r"(?<=\n)```console\n(?P<inner>.*?)```", re.DOTALL)
NORMAL = ["3c444e", "ed6a5e", "86cb7d", "e5c062", "68a4f0", "cb87e2", "58c4c8", "c8ced4"]
BRIGHT = ["808a94", "ff8a80", "a0e096", "ffd682", "8cbeff", "e0a4f4", "7cdce0", "ffffff"]


def colours(written: list[str]) -> list[tuple[int, int, int]]:
    return [(int(one[:2], 16), int(one[2:4], 16), int(one[4:], 16)) for one in written]


# The terminal of the demo's picture: dark on every page, so that no white box glares where the page is dark.
THEME = TerminalTheme((0x18, 0x1E, 0x26), (0xDE, 0xE2, 0xE6), colours(NORMAL), colours(BRIGHT))


@contextmanager
def stage() -> Iterator[tuple[Simulator, Shop]]:
    """The shop with its two hours of history, in an empty folder, with credentials that are none."""
    keys = {"AWS_ACCESS_KEY_ID": "simulator", "AWS_SECRET_ACCESS_KEY": "simulator", "AWS_DEFAULT_REGION": "us-east-1"}
    quiet = {
        "AWS_CONFIG_FILE": "/nowhere",
        "AWS_SHARED_CREDENTIALS_FILE": "/nowhere",
        "AWS_EC2_METADATA_DISABLED": "true",
    }
    gone = ("AWS_PROFILE", "AWS_SESSION_TOKEN", "NO_COLOR", "FORCE_COLOR")
    before = os.getcwd()
    clock = ManualClock(NOW - HISTORY_SECONDS)
    with tempfile.TemporaryDirectory() as folder, Simulator(table=TABLE, ids="service", clock=clock) as sim:
        environment = {**os.environ, **keys, **quiet, "AWS_ENDPOINT_URL": sim.endpoint_url, "COLUMNS": str(COLUMNS)}
        with mock.patch.dict(
            os.environ, {name: value for name, value in environment.items() if name not in gone}, clear=True
        ):
            try:
                os.chdir(folder)
                shop = Shop(sim, clock)
                shop.write_history()
                clock.advance(LATER)
                yield sim, shop
            finally:
                os.chdir(before)


def run(sim: Simulator, line: str) -> str:
    """What a command line prints; an exit code that is not 0 is told."""
    sim.clock.set(NOW + LATER)  # a command that waits moves the clock: each begins at the same moment
    words = shlex.split(line)
    done = CliRunner().invoke(streamiter, words[1:], obj=Setting(clock=sim.clock), prog_name="streamiter")
    text = (done.stdout + done.stderr).replace(sim.endpoint_url, SHOWN_URL)
    return text + (f"(exit code {done.exit_code})\n" if done.exit_code else "")


def refreshed(sim: Simulator, page: str) -> str:
    """The page with the output of its commands as it comes out now. A line of dots stands for what is left out."""
    return BLOCK.sub(lambda match: f"```console\n{_block(sim, match['inner'])}```", page)


def _block(sim: Simulator, inner: str) -> str:
    told = []
    for part in re.split(r"(?m)^(?=\$ )", inner):
        if not part.strip():
            continue
        command, _, shown = part.partition("\n")
        told.append(f"{command}\n{_output(run(sim, command.removeprefix('$ ')), shown)}")
    return "".join(told)


def _output(text: str, shown: str) -> str:
    """As much of the output as the page shows: so many lines, dots, so many from the end."""
    lines, before = text.splitlines(), shown.rstrip("\n").splitlines()
    if "..." in before:
        head = before.index("...")
        tail = len(before) - head - 1
        lines = [*lines[:head], "...", *(lines[len(lines) - tail :] if tail else [])]
    return "\n".join([*map(str.rstrip, lines), *([""] if lines else [])]) + ("\n" if shown.endswith("\n\n") else "")


# -- pictures


class Terminal(io.TextIOWrapper):
    """What a terminal would show."""

    def __init__(self) -> None:
        self._written = io.BytesIO()
        super().__init__(self._written, "utf-8", newline="", write_through=True)

    def isatty(self) -> bool:
        return True

    def getvalue(self) -> str:
        """All that was written."""
        return self._written.getvalue().decode()


def on_terminal(sim: Simulator, line: str) -> Text:
    """A command's lines as a terminal shows them, with the last line that stood at the foot."""
    out, foot = Terminal(), Terminal()
    words = shlex.split(line)[1:]
    with (
        mock.patch.object(sys, "stdout", out),
        mock.patch.object(sys, "stderr", foot),
        mock.patch.dict(os.environ, TERM="xterm"),
    ):
        streamiter.main(words, prog_name="streamiter", standalone_mode=False, obj=Setting(clock=sim.clock))
    drawn = [piece for piece in foot.getvalue().split("\r\x1b[2K") if piece.strip()]
    return Text.from_ansi(f"$ {line}\n{out.getvalue()}{drawn[-1] if drawn else ''}")


def save_screen(name: str, title: str, content: Any, height: int) -> None:
    """A terminal with this content, as SVG."""
    console = Console(
        record=True, width=COLUMNS, height=height, file=io.StringIO(), force_terminal=True, color_system="truecolor"
    )
    console.print(content)
    console.print()  # the frame ends right below the last line, and cuts its descenders off
    svg = console.export_svg(title=title, theme=THEME, unique_id=name)
    svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)  # no fonts from elsewhere: the reader's own do
    svg = svg.replace("Fira Code, monospace", "'DejaVu Sans Mono', Menlo, Consolas, monospace")
    (HERE / f"cli-{name}.svg").write_text(svg, "utf-8")


def draw_tail(sim: Simulator) -> None:
    """Records as they come, and the line at the foot."""
    screen = on_terminal(sim, "streamiter tail orders --from '4 minutes ago' --until 'in 5 s'")
    save_screen("tail", "streamiter tail", screen, 30)


def draw_shards(sim: Simulator) -> None:
    """Shards over time, with a token."""
    run(sim, "streamiter tail orders --from trim_horizon --until '25 min ago' --token-file orders.token")
    for kind in ("svg", "png"):
        run(sim, f"streamiter shards orders --token-file orders.token --{kind} {HERE}/cli-shards.{kind}")


def draw_top(sim: Simulator, shop: Shop, *, seconds: int = 60) -> None:
    """What top knows after a minute at the tip of a busy table."""
    with Stream(locate("orders"), "latest", clock=sim.clock) as stream:
        board = Board(stream.token["stream"], sim.clock.monotonic())
        for second in range(seconds + 1):
            shop.live(1, 14 + 8 * math.sin(second / 9))
            while (record := next(stream)) is not None:
                board.count(record, sim.clock.monotonic())
            view = board.view(stream.stats, stream.lineage, sim.clock.now(), sim.clock.monotonic())
    save_screen("top", "streamiter top orders", draw(view, COLUMNS, 24), 13)


def main() -> None:
    """Renews the page and its pictures."""
    with stage() as (sim, _):
        PAGE.write_text(refreshed(sim, PAGE.read_text("utf-8")), "utf-8")
    with stage() as (sim, shop):
        draw_tail(sim)
        draw_shards(sim)
        draw_top(sim, shop)


if __name__ == "__main__":
    main()
