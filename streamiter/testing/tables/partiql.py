"""PartiQL: a statement as the operation that does the same: INSERT puts, UPDATE updates, DELETE deletes, SELECT scans."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from streamiter.testing.http.refusal import invalid
from streamiter.testing.tables.partiql_parser import Parser
from streamiter.testing.tables.partiql_terms import (
    Call,
    Expressions,
    Infix,
    Path,
    Term,
    Value,
    all_of,
    conjuncts,
)
from streamiter.testing.tables.partiql_words import malformed

KeysOf = Callable[[str], Sequence[str]]  # the names of a table's key; a refusal where there is no such table

_CLAUSES = {"set_add": "ADD", "set_delete": "DELETE"}


class Statement(NamedTuple):
    """What a statement asks for."""

    verb: str  # INSERT, UPDATE, DELETE, SELECT or EXISTS
    operation: str
    body: dict[str, Any]

    @property
    def table(self) -> str:
        return str(self.body["TableName"])

    @property
    def is_read(self) -> bool:
        return self.verb == "SELECT"


def parse(text: str, parameters: Sequence[Mapping[str, Any]], keys_of: KeysOf) -> Statement:
    """The operation that a statement stands for; a refusal where it is none."""
    try:
        return _parse(Parser(text, parameters), keys_of)
    except RecursionError:
        raise malformed("it is nested too deep") from None


def _parse(parser: Parser, keys_of: KeysOf) -> Statement:
    for verb, read in (("INSERT", _insert), ("UPDATE", _update), ("DELETE", _delete), ("SELECT", _select)):
        if parser.words.take_if(verb):
            statement = read(parser, keys_of)
            break
    else:
        parser.words.expect("EXISTS", "(", "SELECT")
        statement = _exists(parser, keys_of)
    parser.end()
    return statement


def _insert(parser: Parser, keys_of: KeysOf) -> Statement:
    parser.words.expect("INTO")
    table, _ = parser.table()
    parser.words.expect("VALUE")
    item = parser.value().typed.get("M")
    if item is None:
        raise malformed("INSERT takes a tuple: {'name': value}")
    expressions = Expressions()
    free = expressions.write(Call("attribute_not_exists", (Path((keys_of(table)[0],)),)))
    body = {"TableName": table, "Item": item, "ConditionExpression": free, **expressions.members}
    return Statement("INSERT", "PutItem", body)


def _update(parser: Parser, keys_of: KeysOf) -> Statement:
    table, _ = parser.table()
    clauses: dict[str, list[str]] = {}
    expressions = Expressions()
    while True:
        if parser.words.take_if("SET"):
            _assign(parser, expressions, clauses)
        elif parser.words.take_if("REMOVE"):
            clauses.setdefault("REMOVE", []).extend(map(expressions.write, parser.paths()))
        else:
            break
    if not clauses:
        raise malformed("UPDATE takes SET or REMOVE")
    keys = keys_of(table)
    key, conditions = _key_and_conditions(parser, keys)
    is_there = Call("attribute_exists", (Path((keys[0],)),))
    body = {
        "TableName": table,
        "Key": key,
        "UpdateExpression": " ".join(f"{clause} {', '.join(parts)}" for clause, parts in clauses.items()),
        "ConditionExpression": expressions.write(all_of([is_there, *conditions])),
        "ReturnValues": _returned(parser),
    }
    return Statement("UPDATE", "UpdateItem", body | expressions.members)


def _assign(parser: Parser, expressions: Expressions, clauses: dict[str, list[str]]) -> None:
    while True:
        path = parser.path()
        parser.words.expect("=")
        term = parser.operand()
        if isinstance(term, Call) and term.name in _CLAUSES and term.terms[:1] == (path,) and len(term.terms) == 2:
            change = f"{expressions.write(path)} {expressions.write(term.terms[1])}"
            clauses.setdefault(_CLAUSES[term.name], []).append(change)
        else:
            clauses.setdefault("SET", []).append(f"{expressions.write(path)} = {expressions.write(term)}")
        if not parser.words.take_if(","):
            return


def _delete(parser: Parser, keys_of: KeysOf) -> Statement:
    parser.words.expect("FROM")
    table, _ = parser.table()
    keys = keys_of(table)
    key, conditions = _key_and_conditions(parser, keys)
    expressions = Expressions()
    body = {"TableName": table, "Key": key, "ReturnValues": _returned(parser)}
    if conditions:  # where there is no item, nothing is to be deleted, and nothing to be refused
        is_not = Call("attribute_not_exists", (Path((keys[0],)),))
        body["ConditionExpression"] = expressions.write(Infix(("OR",), (is_not, all_of(conditions))))
    return Statement("DELETE", "DeleteItem", body | expressions.members)


def _select(parser: Parser, keys_of: KeysOf) -> Statement:
    paths = [] if parser.words.take_if("*") else parser.paths()
    parser.words.expect("FROM")
    table, index = parser.table()
    keys_of(table)
    expressions = Expressions()
    body: dict[str, Any] = {"TableName": table}
    if index is not None:
        body["IndexName"] = index
    if paths:
        body["ProjectionExpression"] = ", ".join(map(expressions.write, paths))
    if parser.words.take_if("WHERE"):
        body["FilterExpression"] = expressions.write(parser.condition())
    return Statement("SELECT", "Scan", body | expressions.members)


def _exists(parser: Parser, keys_of: KeysOf) -> Statement:
    parser.words.expect("*", "FROM")
    table, _ = parser.table()
    keys = keys_of(table)
    key, conditions = _key_and_conditions(parser, keys)
    parser.words.expect(")")
    expressions = Expressions()
    is_there = Call("attribute_exists", (Path((keys[0],)),))
    condition = expressions.write(all_of([is_there, *conditions]))
    body = {"TableName": table, "Key": key, "ConditionExpression": condition, **expressions.members}
    return Statement("EXISTS", "ConditionCheck", body)


def _key_and_conditions(parser: Parser, keys: Sequence[str]) -> tuple[dict[str, Any], list[Term]]:
    """The item that WHERE names, and what else it asks of it."""
    found: dict[str, Any] = {}
    conditions: list[Term] = []
    for term in conjuncts(parser.condition() if parser.words.take_if("WHERE") else None):
        name = _named_key(term, keys)
        if name is None or name in found:
            conditions.append(term)
        else:
            assert isinstance(term, Infix)
            found[name] = term.terms[1].typed
    if len(found) < len(keys):
        raise invalid("Where clause does not contain a mandatory equality on all key attributes")
    return found, conditions


def _named_key(term: Term, keys: Sequence[str]) -> str | None:
    """The part of the key that a condition says the value of."""
    if isinstance(term, Infix) and term.words == ("=",):
        path, value = term.terms
        if isinstance(path, Path) and isinstance(value, Value) and path.steps[0] in keys and len(path.steps) == 1:
            return str(path.steps[0])
    return None


def _returned(parser: Parser) -> str:
    if not parser.words.take_if("RETURNING"):
        return "NONE"
    which = "UPDATED" if parser.words.take_if("MODIFIED") else "ALL"
    if which == "ALL":
        parser.words.expect("ALL")
    when = "NEW" if parser.words.take_if("NEW") else "OLD"
    if when == "OLD":
        parser.words.expect("OLD")
    parser.words.expect("*")
    return f"{which}_{when}"
