"""`streamiter multilang`: has children in any language process a stream, by the Kinesis Client Library's protocol."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import click

from streamiter.cli.command import Command, reaches_service, refuse_together
from streamiter.cli.fleet.logs import log_to_stderr
from streamiter.cli.fleet.trying import try_out
from streamiter.cli.setting import StreamAddress, make_session, setting
from streamiter.cli.terminal.ending import Terminated
from streamiter.cli.terminal.words import in_our_words
from streamiter.errors import InvalidOption, InvalidPosition
from streamiter.multilang.command import Command as ChildCommand
from streamiter.multilang.command import command_of, environment_of
from streamiter.multilang.daemon import GRACE_SECONDS, RECORDS, Daemon, Plan, name_of, plan_of
from streamiter.multilang.properties import read_properties
from streamiter.multilang.wire import LINE_LIMIT, Form
from streamiter.store.locate import open_store
from streamiter.stream.starting import LATEST, TRIM_HORIZON, read_position

EXAMPLES = (
    "streamiter multilang --properties app.properties",
    "streamiter multilang --source kinesis://clicks --store kcl+dynamodb://shop -- node clicks.js",
    "streamiter multilang --source dynamodb://users --store sqlite:///shop.db --children 2 -- python users.py",
    "streamiter multilang --try node clicks.js",
    "streamiter multilang --properties app.properties --env 'AWS_*' --timeout 60",
)
SAID_BY_FILES = {
    "name": "applicationName",
    "start": "initialPositionInStream",
    "size": "maxRecords",
    "failover": "failoverTimeMillis",
    "region": "regionName",
    "endpoint_url": "kinesisEndpoint and dynamoDBEndpoint",
    "profile": "AwsCredentialsProvider; set AWS_PROFILE",
}
logger = logging.getLogger("streamiter.cli")


@dataclass(frozen=True, slots=True)
class Asked:
    """The options that plans are made of, beside sources and files."""

    store: str | None
    name: str
    start: str
    size: int
    children: int | None
    failover: float
    grace: float | None
    words: tuple[str, ...]


# What stands behind the first word of COMMAND is the child's, also where it looks like an option of ours.
@click.command("multilang", cls=Command, examples=EXAMPLES, context_settings={"allow_interspersed_args": False})
@click.option(
    "--properties",
    "files",
    multiple=True,
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Do what this file says, as the KCL's MultiLangDaemon does; may be given several times.",
)
@click.option("--source", "sources", metavar="URL", multiple=True, help="Read this stream; may be given several times.")
@click.option("--store", metavar="URL", help="Keep leases there. [default: sqlite:///NAME.db]")
@click.option("--name", metavar="NAME", default="multilang", show_default=True, help="Keep leases under this name.")
@click.option(
    "--from", "start", metavar="PLACE", default=TRIM_HORIZON, show_default=True, help="Where leases begin: or a time."
)
@click.option(
    "--size", type=click.IntRange(1, 10_000), default=RECORDS, show_default=True, help="Records in one message."
)
@click.option(
    "--children", type=click.IntRange(min=1), metavar="N", help="N children share all shards. [default: one each]"
)
@click.option(
    "--timeout", type=click.FloatRange(0, min_open=True), metavar="S", help="End a child that is silent so long."
)
@click.option(
    "--failover", type=click.FloatRange(1), default=10.0, show_default=True, metavar="S", help="As of an app."
)
@click.option("--grace", type=click.FloatRange(0), metavar="S", help="Time to shut down. [default: 30, or the file's]")
@click.option(
    "--env", multiple=True, metavar="NAME[=VALUE]", help="Let children see this variable, or a pattern: 'AWS_*'."
)
@click.option("--folder", metavar="DIR", help="Children work in this folder. [default: this one]")
@click.option("--memory", type=click.IntRange(min=1), metavar="MB", help="The most memory for data of a child.")
@click.option(
    "--line", type=click.IntRange(min=1000), default=LINE_LIMIT, metavar="BYTES", help="The longest line of a child."
)
@click.option(
    "--protocol", type=click.Choice(["newer", "older"]), help="Which form children speak. [default: found out]"
)
@click.option("--try", "is_trial", is_flag=True, help="Try COMMAND out, without any service: tell what it does wrong.")
@click.option(
    "--payloads",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="With --try: records have these payloads, a line each.",
)
@click.option("--json", "is_json", is_flag=True, help="With --try: tell it as JSON.")
@click.option("-v", "--verbose", "is_verbose", is_flag=True, help="Log more.")
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="[-- COMMAND...]")
@reaches_service
def command(
    files: tuple[Path, ...],
    sources: tuple[str, ...],
    command: tuple[str, ...],
    env: tuple[str, ...],
    folder: str | None,
    memory: int | None,
    line: int,
    protocol: str | None,
    timeout: float | None,
    endpoint_url: str | None,
    region: str | None,
    profile: str | None,
    *,
    is_verbose: bool,
    is_trial: bool,
    payloads: Path | None,
    is_json: bool,
    **asked: Any,
) -> None:
    """Have children in any language process streams, by the protocol of the Kinesis Client Library's MultiLangDaemon.

    For each shard a child is started: COMMAND, without a shell. It gets records as lines of JSON on its standard input, and
    answers on its standard output; what it writes to standard error is logged. A child that fails is started again, from
    its last checkpoint.

    With --properties, leases are rows of the KCL's own table: a Java daemon can be replaced, and put back.

    With --try, COMMAND is played scripts of messages: a report tells what it does wrong, and where. The exit code is 1 then.

    Ctrl-C or SIGTERM stops it: children are asked to shut down, leases are released. A second one ends it at once.
    """
    log_to_stderr(is_verbose=is_verbose)
    options = Asked(words=command, **asked)
    try:
        make = partial(
            command_of,
            environment=environment_of(env, os.environ),
            folder=folder,
            memory_bytes=(memory or 0) << 20,
            line_limit=line,
            seconds=timeout,
            form=None if protocol is None else Form(protocol),
        )
        if is_trial:
            raise click.exceptions.Exit(_try_out(make(command), payloads, is_json=is_json))
        if payloads is not None or is_json:
            raise click.UsageError("--payloads and --json go with --try")
        place = partial(StreamAddress, endpoint_url=endpoint_url, region=region, profile=profile)
        plans = _of_files(files, make, options) if files else [_of_options(sources, make, options, place)]
        daemon = Daemon(plans)
        logger.info("%s: reads %s", daemon.name, ", ".join(name for plan in plans for name in plan.sources))
        daemon.run()
    except (KeyboardInterrupt, Terminated):
        if is_trial:
            raise  # half a report says nothing
        return  # before it had begun
    except (InvalidOption, InvalidPosition) as error:
        raise click.UsageError(in_our_words(error)) from error
    logger.info("%s: stopped", daemon.name)


def _try_out(child: ChildCommand, payloads: Path | None, *, is_json: bool) -> int:
    refuse_together("is_trial", "files", why="name the command of the child: streamiter multilang --try node clicks.js")
    refuse_together("is_trial", "sources", why="a child is tried out without any service")
    return try_out(
        child.words,
        environment=child.environment,
        folder=child.folder,
        seconds=child.seconds,
        form=child.form,
        payloads=payloads,
        is_json=is_json,
    )


def _of_files(files: Sequence[Path], make: Any, asked: Asked) -> list[Plan]:
    refuse_together("files", "sources", why="a file names its stream itself")
    refuse_together("files", "store", why="leases are rows of the table that applicationName names")
    for option, name in SAID_BY_FILES.items():
        refuse_together("files", option, why=f"a file says it as {name}")
    if asked.words:
        raise click.UsageError("--properties and a command do not go together: executableName says what is run")
    return [_of_file(file, make, asked) for file in files]


def _of_file(file: Path, make: Any, asked: Asked) -> Plan:
    try:
        properties = read_properties(file.read_bytes())
        plan = plan_of(properties, make)
    except InvalidOption as error:
        raise InvalidOption(f"{file}: {error}") from error
    for note in properties.notes:
        logger.warning("%s: %s", file, note)
    return replace(plan, children=asked.children, grace=plan.grace if asked.grace is None else asked.grace)


def _of_options(sources: Sequence[str], make: Any, asked: Asked, place: Any) -> Plan:
    if not sources:
        raise click.UsageError("say what to read: --properties FILE, or --source URL")
    names = [name_of(url) for url in sources]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise click.UsageError(f"two sources are called {twice}: read them by a daemon each, under another --name")
    words: ChildCommand = make(asked.words)
    start = read_position(asked.start, setting().clock, takes_token=False)
    return Plan(
        name=asked.name,
        sources={name: place(url).source() for name, url in zip(names, sources, strict=True)},
        store=_store(asked.store or f"sqlite:///{asked.name}.db", place("")),
        command=words,
        start=start if start != LATEST else "latest",
        records=asked.size,
        failover=asked.failover,
        grace=GRACE_SECONDS if asked.grace is None else asked.grace,
        children=asked.children,
    )


def _store(url: str, place: StreamAddress) -> Any:
    if "dynamodb://" not in url:
        return open_store(url)
    session = make_session(place.profile) if place.profile else None
    return open_store(url, session=session, endpoint_url=place.endpoint_url, region=place.region)
