"""PartiQL: a statement as the operation that does the same: INSERT puts, UPDATE updates, SELECT queries or scans."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from streamiter.testing.expressions.evaluating import found
from streamiter.testing.expressions.terms import Path as Place
from streamiter.testing.http.refusal import invalid
from streamiter.testing.partiql.parser import Parser
from streamiter.testing.partiql.terms import (
    Call,
    Expressions,
    Infix,
    Path,
    Term,
    Value,
    all_of,
    attributes_of,
    conjuncts,
)
from streamiter.testing.partiql.words import malformed


class Keys(NamedTuple):
    """The names of the key of a table or of an index, and how many of them make up the partition key."""

    names: tuple[str, ...]
    hashes: int = 1


# The key of a table, or of an index of it; a refusal where there is none.
KeysOf = Callable[[str, str | None], Keys]

_CLAUSES = {"set_add": "ADD", "set_delete": "DELETE"}
_ORDERED = (("=",), ("<",), ("<=",), (">",), (">=",), ("BETWEEN", "AND"))


class Statement(NamedTuple):
    """A statement, as an operation."""

    verb: str  # INSERT, UPDATE, DELETE, SELECT or EXISTS
    operation: str
    body: dict[str, Any]
    get: dict[str, Any] | None = None  # the same as a Get: of a SELECT that names one item, and asks nothing else of it
    paths: tuple[Path, ...] = ()  # what a SELECT takes out of each item, where that is more than attributes

    @property
    def table(self) -> str:
        return str(self.body["TableName"])

    @property
    def is_read(self) -> bool:
        return self.verb == "SELECT"

    def selected(self, item: dict[str, Any]) -> dict[str, Any]:
        """An item as a SELECT gives it: a path's value goes by its last name, or by its place among the paths if that is an
        index, as PartiQL's specification says."""
        if not self.paths:
            return item
        chosen = ((path, found(item, Place(path.steps))) for path in self.paths)
        return {
            path.steps[-1] if isinstance(path.steps[-1], str) else f"_{place}": value
            for place, (path, value) in enumerate(chosen, 1)
            if value is not None
        }


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
        if not parser.words.take_if("EXISTS", "(", "SELECT"):
            raise malformed(f"unexpected {parser.words.next.says!r}")
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
    free = expressions.write(Call("attribute_not_exists", (Path((keys_of(table, None).names[0],)),)))
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
    keys = keys_of(table, None).names
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
    keys = keys_of(table, None).names
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
    keys, hashes = keys_of(table, index)
    expressions = Expressions()
    body: dict[str, Any] = {"TableName": table} | ({} if index is None else {"IndexName": index})
    attributes = list(dict.fromkeys(Path(path.steps[:1]) for path in paths))
    if paths:
        body["ProjectionExpression"] = ", ".join(map(expressions.write, attributes))
    conditions = conjuncts(parser.condition() if parser.words.take_if("WHERE") else None)
    of_keys, others = _key_conditions(conditions, keys, hashes)
    is_query = all(name in of_keys for name in keys[:hashes]) and not any(
        name in keys for term in others for name in attributes_of(term)
    )
    if is_query:
        body["KeyConditionExpression"] = " AND ".join(map(expressions.write, of_keys.values()))
    else:
        others = conditions
    if others:
        body["FilterExpression"] = expressions.write(all_of(others))
    body |= _order(parser, keys, is_query=is_query) | expressions.members
    get = None
    if index is None and not others and all(_named_key(of_keys.get(name), keys) for name in keys):
        get = _one(table, {name: of_keys[name].terms[1].typed for name in keys}, attributes)
    return Statement("SELECT", "Query" if is_query else "Scan", body, get, () if attributes == paths else tuple(paths))


def _one(table: str, key: dict[str, Any], paths: Sequence[Path]) -> dict[str, Any]:
    """The Get of an item."""
    expressions = Expressions()
    wanted = {"ProjectionExpression": ", ".join(map(expressions.write, paths))} if paths else {}
    return {"TableName": table, "Key": key, **wanted, **expressions.members}


def _key_conditions(conditions: Sequence[Term], keys: Sequence[str], hashes: int) -> tuple[dict[str, Any], list[Term]]:
    """The conditions by which a partition, and a stretch of it, is found; and the others."""
    of_keys: dict[str, Any] = {}
    others: list[Term] = []
    for term in conditions:
        name = _conditioned_key(term, keys, hashes)
        if name is None or name in of_keys:
            others.append(term)
        else:
            of_keys[name] = term
    return of_keys, others


def _conditioned_key(term: Term, keys: Sequence[str], hashes: int) -> str | None:
    """The part of the key that a condition narrows down; of the partition key only one value helps."""
    name = _named_key(term, keys)
    if name is not None or not isinstance(term, Infix | Call):
        return name
    is_one = term.words in _ORDERED if isinstance(term, Infix) else term.name == "begins_with" and len(term.terms) == 2
    if not is_one or not isinstance(term.terms[0], Path) or not all(isinstance(one, Value) for one in term.terms[1:]):
        return None
    steps = term.terms[0].steps
    return str(steps[0]) if len(steps) == 1 and steps[0] in keys[hashes:] else None


def _order(parser: Parser, keys: Sequence[str], *, is_query: bool) -> dict[str, Any]:
    """What ORDER BY asks of a Query: an order is that of the sort key within a partition."""
    if not parser.words.take_if("ORDER", "BY"):
        return {}
    path = parser.path()
    backwards = not parser.words.take_if("ASC") and parser.words.take_if("DESC")
    if not is_query:
        raise invalid(
            "Must have at least one non-optional hash key condition in WHERE clause when using ORDER BY clause."
        )
    if len(path.steps) > 1 or path.steps[0] not in keys:
        raise invalid(f"Variable reference {path.steps[0]} in ORDER BY clause must be part of the primary key")
    return {"ScanIndexForward": not backwards}


def _exists(parser: Parser, keys_of: KeysOf) -> Statement:
    parser.words.expect("*", "FROM")
    table, _ = parser.table()
    keys = keys_of(table, None).names
    key, conditions = _key_and_conditions(parser, keys)
    parser.words.expect(")")
    expressions = Expressions()
    is_there = Call("attribute_exists", (Path((keys[0],)),))
    condition = expressions.write(all_of([is_there, *conditions]))
    body = {"TableName": table, "Key": key, "ConditionExpression": condition, **expressions.members}
    return Statement("EXISTS", "ConditionCheck", body)


def _key_and_conditions(parser: Parser, keys: Sequence[str]) -> tuple[dict[str, Any], list[Term]]:
    """The item that WHERE names, and what else it asks of it."""
    key: dict[str, Any] = {}
    conditions: list[Term] = []
    for term in conjuncts(parser.condition() if parser.words.take_if("WHERE") else None):
        name = _named_key(term, keys)
        if name is None or name in key:
            conditions.append(term)
        else:
            assert isinstance(term, Infix)
            key[name] = term.terms[1].typed
    if len(key) < len(keys):
        raise invalid("Where clause does not contain a mandatory equality on all key attributes")
    return key, conditions


def _named_key(term: Term | None, keys: Sequence[str]) -> str | None:
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
