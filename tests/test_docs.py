"""The docs: every Python block of README.md and docs/ runs, and every shell block that calls streamiter, page by page.

Each page runs in a process of its own, with nothing at hand but what the page itself makes: no AWS variables, an empty
HOME, an empty folder, this machine alone. tests/docs_page.py is that process. A block that cannot run says why:

    ```python no-run it needs an AWS account

Such a Python block says the same in a comment, so that readers see it, and mypy reads it all the same.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.test_commands import check_parses
from tests.docs_page import Block, blocks_of

ROOT = Path(__file__).parent.parent
GUARD = ROOT / "tests" / "docs_guard"
SECONDS = 280


def pages() -> list[Path]:
    found = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [page for page in found if any(block.is_python or block.is_command for block in blocks(page))]


def blocks(page: Path) -> list[Block]:
    return list(blocks_of(page.read_text("utf-8")))


def exempt(page: Path, *, python: bool) -> list[Block]:
    return [block for block in blocks(page) if block.is_exempt and block.is_python == python]


def named(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def run_page(page: Path, folder: Path) -> int:
    """Run a page in a process of its own, and give how many blocks ran; what goes wrong fails the test."""
    home, here, refused = folder / "home", folder / "here", folder / "refused.txt"
    home.mkdir()
    here.mkdir()
    programs = [Path(sys.executable).parent, *map(Path, os.environ["PATH"].split(os.pathsep))]
    environment = {
        "PATH": os.pathsep.join(map(str, programs)),
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "PYTHONPATH": str(GUARD),
        "STREAMITER_DOCS_REFUSED": str(refused),
        "SPARK_SUBMIT_OPTS": os.environ["SPARK_SUBMIT_OPTS"],  # it tells a JVM to be thrifty, and no page of anything
    }
    command = [sys.executable, "-P", "-W", "error", str(ROOT / "tests/docs_page.py"), str(page)]
    done = subprocess.run(
        command, cwd=here, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SECONDS
    )
    if refused.exists():
        pytest.fail(f"{page} called out of this machine:\n{refused.read_text()}")
    if done.returncode:
        pytest.fail(f"{done.stdout[-2000:]}\n{done.stderr[-6000:]}")
    return int(done.stdout.rpartition("ran ")[2])


@pytest.mark.parametrize("page", pages(), ids=named)
def test_page(page, tmp_path):
    assert run_page(page, tmp_path) == sum(
        (block.is_python or block.is_command) and not block.is_exempt for block in blocks(page)
    )


@pytest.mark.parametrize("page", pages(), ids=named)
def test_a_python_block_that_does_not_run_says_so_where_readers_see_it(page):
    for block in exempt(page, python=True):
        comments = " ".join(re.findall(r"#(.*)", block.code)).lower()
        assert block.reason.lower() in comments, f"{page}:{block.line}: no comment says: {block.reason}"


def test_few_python_blocks_do_not_run():
    found = [f"{named(page)}:{block.line}" for page in pages() for block in exempt(page, python=True)]
    assert len(found) <= 4, found


def test_python_blocks_that_do_not_run_are_type_checked(tmp_path):
    """Each is read by mypy with the blocks of its page that stand before it; and mypy sees the mistake of one more page."""
    wrong = tmp_path / "wrong_page.py"
    wrong.write_text('from streamiter import Stream\n\nStream("dynamodb://users").tokn\n')
    files = [wrong]
    for page in pages():
        if not exempt(page, python=True):
            continue
        text = "\n\n".join(block.code for block in blocks(page) if block.is_python)
        files.append(tmp_path / f"{named(page).replace('/', '_').removesuffix('.md')}_page.py")
        files[-1].write_text(text)
    assert len(files) > 1
    done = mypy(files)
    error, told = done.stdout.splitlines()
    assert "wrong_page.py:3: " in error and 'has no attribute "tokn"' in error, done.stdout + done.stderr
    assert told.startswith("Found 1 error in 1 file"), done.stdout


def mypy(files: list[Path]) -> subprocess.CompletedProcess[str]:
    # A cache of its own: other options than those of ./dev check would spoil that one.
    options = ["--follow-imports=silent", "--allow-redefinition", "--disable-error-code=func-returns-value"]
    options.append(f"--cache-dir={ROOT / '.mypy_cache/docs'}")
    command = [sys.executable, "-m", "mypy", "--config-file=", *options, *map(str, files)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=SECONDS)


@pytest.mark.parametrize("page", pages(), ids=named)
def test_commands_that_do_not_run_are_parsed(page):
    for block in exempt(page, python=False):
        for line in block.code.splitlines():
            if line.startswith("streamiter "):
                words = shlex.split(line, comments=True)
                cut = next((place for place, word in enumerate(words) if word in ("|", ">", ">>", "&&")), None)
                check_parses(words[1:cut])


@pytest.fixture
def run(tmp_path):
    def run(text: str) -> int:
        page = tmp_path / "page.md"
        page.write_text(text)
        for folder in ("home", "here"):
            shutil.rmtree(tmp_path / folder, ignore_errors=True)
        return run_page(page, tmp_path)

    return run


def test_blocks_of_a_page_share_their_names(run):
    assert run("```python\na = 1\n```\n\n1. in a list\n\n   ```python\n   assert a == 1\n   ```\n") == 2


def test_classes_of_a_page_know_their_module(run):
    lines = [
        "from __future__ import annotations",
        "from dataclasses import dataclass",
        "@dataclass",
        "class A:",
        " b: int",
    ]
    assert run("\n".join(["```python", *lines, "assert A(1).b == 1", "```"])) == 1


def test_a_page_begins_with_nothing(run):
    lines = [
        "import os",
        "from pathlib import Path",
        "assert not [name for name in os.environ if 'AWS' in name or 'STREAMITER' in name and 'DOCS' not in name]",
        "assert list(Path.home().iterdir()) == list(Path.cwd().iterdir()) == []",
    ]
    assert run("\n".join(["```python", *lines, "```"])) == 1


def test_a_failure_names_page_and_line(run):
    with pytest.raises(pytest.fail.Exception, match=r"page\.md:5: ZeroDivisionError"):
        run("# Title\n\n```python\na = 0\n1 / a\n```\n")
    with pytest.raises(pytest.fail.Exception, match=r"page\.md:2: SyntaxError"):
        run("```python\nin valid\n```\n")
    with pytest.raises(pytest.fail.Exception, match=r"page\.md:2: SystemExit"):
        run("```python\nraise SystemExit(0)\n```\n")


def test_a_page_that_calls_out_fails_even_where_it_catches_that(run):
    lines = [
        "import contextlib, socket",
        "with contextlib.suppress(OSError):",
        "    socket.create_connection(('%s', 80))",
    ]
    page = "\n".join(["```python", *lines, "```"])
    for host in ("192.0.2.1", "service.invalid"):
        with pytest.raises(pytest.fail.Exception, match=rf"called out of this machine:\n(.*\n)*.* {host}"):
            run(page % host)


def test_a_block_is_exempt_only_with_a_reason(run):
    assert run("```python no-run needs an AWS account\n1 / 0\n```\n") == 0
    with pytest.raises(pytest.fail.Exception, match=r"page\.md:2: a no-run block gives its reason"):
        run("```python no-run\n1 / 0\n```\n")


def test_commands_of_ours_run_and_others_do_not(run, tmp_path):
    assert run("```bash\nstreamiter --version > told.txt\n```\n\n```bash\npip install streamiter\n```\n") == 1
    assert (tmp_path / "here/told.txt").read_text().startswith("streamiter")
    with pytest.raises(pytest.fail.Exception, match=r"page\.md:2: exit code 2"):
        run("```bash\nstreamiter no-such-command\n```\n")
    with pytest.raises(pytest.fail.Exception, match=r"page\.md:2: a no-run block gives its reason"):
        run("```bash no-run\nstreamiter simulate\n```\n")


def test_what_a_shell_exports_holds_for_the_rest_of_the_page(run):
    shell = '```bash\nexport AWS_DEFAULT_REGION="here \n and there"\n```\n'
    assert (
        run(f"{shell}\n```python\nimport os\nassert os.environ['AWS_DEFAULT_REGION'] == 'here \\n and there'\n```\n")
        == 2
    )


def test_a_simulated_service_runs_until_the_page_ends(run):
    asked = 'urllib.request.Request("http://127.0.0.1:8000", b"{}", {"X-Amz-Target": "Simulator.Heal"})'
    calls = f"```python\nimport urllib.request\nurllib.request.urlopen({asked}).close()\n```\n"
    assert run(f"```bash\nstreamiter simulate --stopped --no-token\n```\n\n{calls}\n{calls}") == 3
    with pytest.raises(pytest.fail.Exception, match=r"page\.md:2: exit code 2"):
        run("```bash\nstreamiter simulate --knob wrong=1\n```\n")
    with pytest.raises(pytest.fail.Exception, match=r"page\.md:2: .* nothing can follow it"):
        run("```bash\nstreamiter simulate\nstreamiter --version\n```\n")


def test_other_languages_and_quoted_blocks_do_not_run(run):
    assert run("```bash\nexit 1\n```\n\n````markdown\n```python\n1 / 0\n```\n````\n") == 0
