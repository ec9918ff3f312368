"""Records the demo, beside itself: python docs/pictures/record.py.

It runs in a terminal of its own (a pseudo one), and what it writes there becomes a picture; nothing in it is drawn by
hand. Fonts are those of whoever looks: the picture fetches nothing.
"""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from io import StringIO
from pathlib import Path
from xml.etree import ElementTree

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

HERE = Path(__file__).parent
COLUMNS, ROWS = 82, 24
DEMO = "demo.svg"

BOLD = "\x1b[1m"
NORMAL = "3c444e ed6a5e 86cb7d e5c062 68a4f0 cb87e2 58c4c8 c8ced4"
BRIGHT = "808a94 ff8a80 a0e096 ffd682 8cbeff e0a4f4 7cdce0 ffffff"


def colours(written: str) -> list[tuple[int, int, int]]:
    return [(int(one[:2], 16), int(one[2:4], 16), int(one[4:], 16)) for one in written.split()]


THEME = TerminalTheme((0x18, 0x1E, 0x26), (0xDE, 0xE2, 0xE6), colours(NORMAL), colours(BRIGHT))
FRAME = """\
<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg" role="img">
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; font-size: {char_height}px; }}
.{unique_id}-title {{ font-size: 17px; font-family: ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal"><rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" /></clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""


def main() -> None:
    save(DEMO, picture_of(run_demo(), "./dev demo"))


def save(name: str, picture: str) -> None:
    (HERE / name).write_text(picture, "utf-8")


def run_demo() -> str:
    """What the demo's two liveliest scenes write to a terminal, with their colours."""
    written = run_in_terminal([sys.executable, "-m", "streamiter.demo", "--fast", "--without-spark"])
    _, first, rest = written.partition(f"{BOLD}It goes on")
    scenes, *_ = rest.partition(f"{BOLD}What to try next")
    return first + scenes


def run_in_terminal(command: list[str]) -> str:
    ours, theirs = pty.openpty()
    environment = {
        **os.environ,
        "TERM": "xterm-256color",
        "COLUMNS": str(COLUMNS),
        "LINES": str(ROWS),
        "PYTHONUTF8": "1",
    }
    environment.pop("NO_COLOR", None)
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment) as running:
        os.close(theirs)
        written = b""
        while True:
            try:
                piece = os.read(ours, 65536)
            except OSError:  # Linux says so at the end of a pseudo terminal
                break
            if not piece:
                break
            written += piece
    os.close(ours)
    if running.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {running.returncode}:\n{written.decode()}")
    return written.decode().replace("\r\n", "\n")


def picture_of(written: str, title: str) -> str:
    """A terminal with this in it, as SVG."""
    console = Console(record=True, width=COLUMNS, file=StringIO(), force_terminal=True, legacy_windows=False)
    console.print(Text.from_ansi(written.rstrip("\n")), soft_wrap=True, highlight=False)
    return console.export_svg(title=title, theme=THEME, code_format=FRAME, unique_id="demo")


def text_in(picture: str) -> list[str]:
    """The lines of text that a picture shows, top down, without blanks: to tell whether it is still what would be recorded."""
    rows: dict[float, list[tuple[float, str]]] = {}
    for element in ElementTree.fromstring(picture).iter("{http://www.w3.org/2000/svg}text"):
        if str(element.get("class")).endswith("-title"):
            continue
        place = float(element.get("y") or 0), float(element.get("x") or 0)
        rows.setdefault(place[0], []).append((place[1], "".join(element.itertext())))
    lines = ["".join(text for _, text in sorted(row)) for _, row in sorted(rows.items())]
    return [line for line in (re.sub(r"\s", "", line) for line in lines) if line]


if __name__ == "__main__":
    main()
