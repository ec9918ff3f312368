"""The notation of lineages: `S1 => {S12, S13}`, one language for docs, tests and messages.

    S1 => {S12, S13}     S1 was split: S12 and S13 are its children
    {S1, S2} => S3       S1 and S2 were merged into S3
    S0 => S1 => S2       S0 rolled into S1, S1 into S2
    S1 ~ S2              unrelated shards
    (S0) => S1           S1 names a parent that is not listed

Statements are set apart by `;` or a new line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from streamiter.shard import Shard

_TOKEN = re.compile(r"\s*(=>|[{}(),~]|[^\s{}(),~;=]+)")


def parse(text: str) -> list[Shard]:
    """The shards that a notation describes, in the order of their first mention; ValueError says where it goes wrong."""
    parents: dict[str, list[str]] = {}
    absent: set[str] = set()
    for statement in re.split(r"[;\n]", text):
        _parse_statement(statement.strip(), parents, absent)
    return [Shard(shard_id, tuple(named)) for shard_id, named in parents.items() if shard_id not in absent]


def write(shards: Iterable[Shard]) -> str:
    """The notation of these shards: families first, in the order of their parents, then the unrelated."""
    shards = list(shards)
    listed = {shard.id for shard in shards}
    families: dict[tuple[str, ...], list[str]] = {}
    for shard in shards:
        if shard.parents:
            families.setdefault(shard.parents, []).append(shard.id)
    related = {name for parents, children in families.items() for name in (*parents, *children)}
    statements = [
        f"{_group([name if name in listed else f'({name})' for name in parents])} => {_group(children)}"
        for parents, children in families.items()
    ]
    alone = [shard.id for shard in shards if shard.id not in related]
    if alone:
        statements.append(" ~ ".join(alone))
    return "; ".join(statements)


def _group(names: list[str]) -> str:
    return names[0] if len(names) == 1 else "{" + ", ".join(names) + "}"


def _parse_statement(statement: str, parents: dict[str, list[str]], absent: set[str]) -> None:
    words = _words(statement)
    above: list[str] = []
    sign = "~"
    while words:
        names = _parse_term(words, statement, absent)
        for name in names:
            known = parents.setdefault(name, [])
            if sign == "=>":
                known += [parent for parent in above if parent not in known]
        above = names
        if words:
            sign = words.pop(0)
            if sign not in ("=>", "~") or not words:
                raise ValueError(f"{statement!r}: after {names[-1]!r}, expected '=>' or '~' and a shard, not {sign!r}")


def _parse_term(words: list[str], statement: str, absent: set[str]) -> list[str]:
    word = words.pop(0)
    if word != "{":
        return [_parse_name(word, words, statement, absent)]
    names = []
    while words:
        names.append(_parse_name(words.pop(0), words, statement, absent))
        comma = words.pop(0) if words else ""
        if comma == "}":
            return names
        if comma != ",":
            break
    raise ValueError(f"{statement!r}: a group is written {{S1, S2}}")


def _parse_name(word: str, words: list[str], statement: str, absent: set[str]) -> str:
    if word == "(":
        if len(words) < 2 or words[1] != ")":
            raise ValueError(f"{statement!r}: a shard that is not listed is written (S0)")
        word = words.pop(0)
        words.pop(0)
        absent.add(word)
    if word in ("=>", "{", "}", "(", ")", ",", "~"):
        raise ValueError(f"{statement!r}: expected a shard id, not {word!r}")
    return word


def _words(statement: str) -> list[str]:
    words, at = [], 0
    while at < len(statement):
        match = _TOKEN.match(statement, at)
        if match is None:
            raise ValueError(f"{statement!r}: cannot read {statement[at:]!r}")
        words.append(match[1])
        at = match.end()
    return words
