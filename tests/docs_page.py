"""Runs one page of the docs as a reader would: its blocks in order, pasted into one terminal, in an empty folder.

    python tests/docs_page.py PAGE

This process is the terminal. tests/test_docs.py starts it with nothing in its environment but PATH and an empty HOME.
It needs nothing but the standard library, so that a page finds only what it makes itself.

- Python blocks share their names, and run here.
- Shell blocks that call streamiter, or set a variable for it, run in bash; what they export holds from then on.
- `streamiter simulate` gets a terminal of its own: it runs until the page ends. It listens on a free port, which from then on
  stands in for the page's 8000: that one may be taken.
- A block that says `no-run` and a reason does not run.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
import traceback
import types
from collections.abc import Iterator
from pathlib import Path
from typing import IO, NamedTuple

FENCE = re.compile(r"^(?P<indent>[ \t]*)(?P<marks>`{3,}|~{3,})[ \t]*(?P<info>.*)$")
# Other commands (pip, docker, aws) are for the reader's machine, not for ours.
OURS = re.compile(r"^(streamiter\b|python -m streamiter\b|export AWS_)", re.MULTILINE)
CURL = re.compile(r"^curl .*http://127\.0\.0\.1", re.MULTILINE)
SERVER = re.compile(r"^streamiter simulate\b.*$", re.MULTILINE)
PORT_ON_THE_PAGES = "8000"
LISTENING = re.compile(r"listening on http://127\.0\.0\.1:(\d+)")
OF_THE_SHELL = {"_", "SHLVL", "PWD", "OLDPWD"}


class PageFailed(Exception):
    """What went wrong, with page and line."""


class Block(NamedTuple):
    line: int  # where its code begins, counted from 1
    info: list[str]
    code: str

    @property
    def is_python(self) -> bool:
        return self.info[:1] in (["python"], ["py"])

    @property
    def is_command(self) -> bool:
        """Whether it is for a shell, and ours to try."""
        if self.info[:1] not in (["bash"], ["sh"]):
            return False
        # Not every machine has curl, and nothing of ours needs it.
        is_curl = CURL.search(self.code) is not None and shutil.which("curl") is not None
        return is_curl or OURS.search(self.code) is not None

    @property
    def is_exempt(self) -> bool:
        return self.info[1:2] == ["no-run"]

    @property
    def reason(self) -> str:
        """Why it does not run."""
        return " ".join(self.info[2:])


def blocks_of(text: str) -> Iterator[Block]:
    """Every fenced block of a page, whatever its language: a Python block shown inside another is text."""
    lines = enumerate(text.splitlines(), start=1)
    for number, line in lines:
        opening = FENCE.match(line)
        if opening is None:
            continue
        code = []
        for _, inner in lines:
            if inner.strip().startswith(opening["marks"]) and not inner.strip().strip(opening["marks"][0]):
                break
            code.append(inner)
        yield Block(number + 1, opening["info"].split(), textwrap.dedent("\n".join(code)))


class Terminal:
    """Where the blocks of one page are pasted."""

    def __init__(self, page: Path) -> None:
        self._page = page
        self._port = PORT_ON_THE_PAGES
        # A real module: dataclasses and type hints look their names up there.
        self._module = types.ModuleType("docs_page")
        sys.modules["docs_page"] = self._module
        self._servers: list[subprocess.Popen[str]] = []

    def paste(self, block: Block) -> None:
        if block.is_python:
            self._run_python(block)
        elif SERVER.search(block.code):
            self._start_server(block)
        else:
            self._run_shell(block)

    def _run_python(self, block: Block) -> None:
        # Blank lines before it, so that Python counts the page's lines.
        padded = "\n" * (block.line - 1) + self._with_port(block.code)
        try:
            exec(compile(padded, str(self._page), "exec", dont_inherit=True), vars(self._module))
        except (Exception, SystemExit) as error:
            frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(self._page)]
            line = error.lineno if isinstance(error, SyntaxError) and not frames else frames[-1].lineno
            raise PageFailed(
                f"{self._page}:{line}: {type(error).__name__}: {error}\n\n{textwrap.indent(block.code, '    ')}"
            ) from error

    def _run_shell(self, block: Block) -> None:
        read, write = os.pipe()
        shell = ["bash", "-euo", "pipefail", "-c", f"{self._with_port(block.code)}\nenv -0 >&{write}"]
        with os.fdopen(read) as told:
            done = subprocess.run(
                shell, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=250, pass_fds=[write]
            )
            os.close(write)
            environment = dict(line.split("=", 1) for line in told.read().split("\0") if line)
        if done.returncode:
            said = f"{done.stdout[-2000:]}{done.stderr[-2000:]}"
            raise PageFailed(f"{self._page}:{block.line}: exit code {done.returncode}\n\n{said}")
        os.environ.update({name: value for name, value in environment.items() if name not in OF_THE_SHELL})

    def _start_server(self, block: Block) -> None:
        commands = [line for line in block.code.splitlines() if line.strip()]
        if len(commands) != 1:
            raise PageFailed(
                f"{self._page}:{block.line}: streamiter simulate goes on until Ctrl-C: nothing can follow it"
            )
        command = commands[0].replace(f" --port {PORT_ON_THE_PAGES}", "") + " --port 0"
        server = subprocess.Popen(
            ["bash", "-c", f"exec {command}"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert server.stdout is not None
        self._servers.append(server)
        said = []
        for line in server.stdout:  # as a reader waits until it says that it is there
            said.append(line)
            if (listening := LISTENING.search(line)) is not None:
                self._port = listening[1]
                break
        else:
            raise PageFailed(f"{self._page}:{block.line}: exit code {server.wait()}\n\n{''.join(said)}")
        threading.Thread(target=drain, args=(server.stdout,), daemon=True).start()

    def _with_port(self, code: str) -> str:
        return re.sub(rf"\b{PORT_ON_THE_PAGES}\b", self._port, code)

    def close(self) -> None:
        for server in self._servers:
            server.send_signal(signal.SIGINT)
        for server in self._servers:
            try:
                server.wait(timeout=60)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()


def drain(output: IO[str]) -> None:
    for _ in output:
        pass


def run_page(page: Path) -> int:
    """Run a page's blocks, and give how many ran; whatever goes wrong names the page and the line."""
    terminal = Terminal(page)
    ran = 0
    try:
        for block in blocks_of(page.read_text("utf-8")):
            if block.is_exempt and not block.reason:
                raise PageFailed(f"{page}:{block.line}: a no-run block gives its reason after no-run")
            if (block.is_python or block.is_command) and not block.is_exempt:
                terminal.paste(block)
                ran += 1
    finally:
        terminal.close()
    return ran


def main() -> int:
    try:
        ran = run_page(Path(sys.argv[1]))
    except PageFailed as failure:
        if failure.__cause__ is not None:
            traceback.print_exception(failure.__cause__)
        print(failure, file=sys.stderr)
        return 1
    print(f"ran {ran}")
    return 0


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    sys.exit(code)
