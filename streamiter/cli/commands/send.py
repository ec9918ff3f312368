"""`streamiter send`: writes one value to a topic, and says where it was written."""

from __future__ import annotations

import sys
from typing import Any

import click

from streamiter.cli.command import Command
from streamiter.cli.sending.target import split_words, takes_topic, topic_meant
from streamiter.cli.terminal.outputs import tell
from streamiter.topic.codec import Misfit

EXAMPLES = (
    "streamiter send shop:app orders '{\"order_id\": 1}'",
    "streamiter send 'sqlite:///orders.db?topic=orders' '{\"order_id\": 1}' --partition-by order_id",
    "echo '{\"order_id\": 1}' | streamiter send shop:app orders -",
)


@click.command("send", cls=Command, examples=EXAMPLES)
@click.argument("target", metavar="MODULE:APP TOPIC | URL")
@click.argument("words", metavar="VALUE", nargs=-1, required=True)
@click.option("--key", metavar="TEXT", help="Send it under this key, whatever the topic takes for one.")
@takes_topic
def command(target: str, words: tuple[str, ...], key: str | None, **options: Any) -> None:
    """Send one value, written as JSON, to a topic; - reads it from a pipe.

    The topic is one of an app (MODULE:APP TOPIC), or a log by its URL. The value is checked against the topic's record
    before anything is written. The command ends when the value is written durably, and prints its partition and number.
    """
    name, value = split_words(target, words, "VALUE")
    topic = topic_meant(target, name, **options)
    text = sys.stdin.buffer.read() if value == "-" else value.encode()
    try:
        place = topic.send_json(text.strip(), key=key)
    except Misfit as why:
        at = f" (column {why.column})" if why.column else ""
        raise click.ClickException(f"this value is not sent to {topic.title}: {why}{at}") from None
    finally:
        topic.close()
    tell(f"{topic.title}: partition {place.partition}, number {place.number}")
