"""What the site needs beyond MkDocs: files from outside docs/, the pages that are made anew at each build, and a check.

MkDocs calls the functions by their names; `mkdocs.yml` names this file.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parent.parent.parent
sys.path.insert(0, str(ROOT))  # so that the build needs no install

OUTSIDE = re.compile(r"(?P<mark>!?)\[(?P<text>[^\]]*)\]\((?P<up>(?:\.\./)+)(?P<path>[^)#]+)(?:#[^)]*)?\)")
NO_RUN = re.compile(r"^([ \t]*`{3,}\w+)[ \t]+no-run\b.*$", re.MULTILINE)
FETCHED = re.compile(r"""<(?:(?:script|img|iframe|source)\b[^>]*\bsrc|link\b[^>]*\bhref)=["']?(?:https?:)?//""")
FIELDS = re.compile(r"<!-- fields: (\w+) -->")
FIELD = re.compile(r"    (?P<name>\w+): (?P<type>[^#=]+?)(?: = [^#]+?)?(?:  # (?P<comment>.*))?")
DECISION = re.compile(r"#\s*(?P<title>.+)")


def on_files(files: Files, config: Any) -> Files:
    """Adds the list of decisions, and the pictures that lie outside docs/."""
    files.append(File.generated(config, "decisions/index.md", content="\n".join(_decisions())))
    files.append(File.generated(config, "reference/command-line.md", content="\n".join(_commands())))
    for page in list(files.documentation_pages()):
        for path in _pictures_outside(page):
            files.append(File.generated(config, f"outside/{path.as_posix()}", abs_src_path=str(ROOT / path)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Links out of docs/ become names of files, since the site has them not; notes for the tests go."""

    def replace(link: re.Match[str]) -> str:
        path = _outside(page.file, link)
        if path is None:
            return link[0]
        if link["mark"]:
            up = "../" * page.file.src_uri.count("/")
            return f"![{link['text']}]({up}outside/{path.as_posix()})"
        if not (ROOT / path).exists():
            raise PluginError(f"{page.file.src_uri}: there is no {path}")
        return f"`{path.as_posix()}`" if link["text"].endswith(path.name) else f"{link['text']} (`{path.as_posix()}`)"

    markdown = FIELDS.sub(lambda mark: "\n".join(_fields(mark[1])), markdown)
    return NO_RUN.sub(r"\1", OUTSIDE.sub(replace, markdown))


def on_post_page(output: str, page: Any, **_: Any) -> str:
    """Refuses a page that would fetch something from elsewhere: the site is to work without the internet."""
    found = FETCHED.search(output)
    if found:
        raise PluginError(f"{page.file.src_uri} would fetch from elsewhere: {found[0]}")
    return output


def _outside(file: File, link: re.Match[str]) -> Path | None:
    """Where in the repository a link leads, if that is outside docs/."""
    steps = Path("docs", file.src_uri).parent.parts
    ups = link["up"].count("../")
    return Path(link["path"]) if ups == len(steps) else None


def _pictures_outside(page: File) -> Iterator[Path]:
    if page.abs_src_path is None:
        return
    for link in OUTSIDE.finditer(Path(page.abs_src_path).read_text("utf-8")):
        path = _outside(page, link)
        if link["mark"] and path is not None:
            yield path


def _fields(name: str) -> Iterator[str]:
    """The fields of a dataclass, with the comments beside or above them, as a table."""
    import inspect

    import streamiter

    kind = getattr(streamiter, name)
    yield "| Field | Type | |\n|---|---|---|"
    above: list[str] = []
    for line in inspect.getsource(kind).splitlines():
        field = FIELD.fullmatch(line)
        if line.startswith("    # "):
            above.append(line[6:])
        elif field is not None:
            told = field["comment"] or " ".join(above)
            yield f"| `{field['name']}` | `{field['type']}` | {told} |"
            above = []


def _commands() -> Iterator[str]:
    """Each command with what its --help says."""
    from streamiter.cli.catalogue import streamiter

    yield "# Command line\n\nWhat each command says with `--help`; [how to use them](../cli.md).\n"
    context = streamiter.make_context("streamiter", [], resilient_parsing=True)
    commands = {name: streamiter.get_command(context, name) for name in streamiter.list_commands(context)}
    yield f"```text\n{context.get_help()}\n```\n"
    for name, command in commands.items():
        if command is not None and not command.hidden:
            inner = command.make_context(name, [], parent=context, resilient_parsing=True)
            yield f"## streamiter {name}\n\n```text\n{inner.get_help()}\n```\n"


def _decisions() -> Iterator[str]:
    yield "# Decisions\n\nA page each: what we faced, what we chose, what we gave up.\n"
    for path in sorted((ROOT / "docs/decisions").glob("[0-9]*.md")):
        heading = DECISION.match(path.read_text("utf-8"))
        assert heading is not None, f"{path} has no heading"
        yield f"- [{heading['title']}]({path.name})"
