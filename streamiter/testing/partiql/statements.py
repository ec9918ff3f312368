"""Statements: the three operations that take PartiQL, done by the operations that their statements stand for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from streamiter.testing.http.refusal import Refusal, invalid, throughput_exceeded
from streamiter.testing.partiql.page_tokens import read_token, write_token
from streamiter.testing.partiql.statement import KeysOf, Statement, parse

Body = dict[str, Any]
Leaves = Callable[[str, bytes], bool]  # an operation, and a part of it: whether that is left undone
Do = Callable[[str, Body], Body]  # an operation of the tables, and its body

_ACTIONS = {"PutItem": "Put", "UpdateItem": "Update", "DeleteItem": "Delete", "ConditionCheck": "ConditionCheck"}
_DUPLICATE = "Duplicate primary key exists in table"

CAPACITY = "ReturnConsumedCapacity"
ON_FAILURE = "ReturnValuesOnConditionCheckFailure"
_OF_READS = (CAPACITY, "ConsistentRead", "Limit")
_OF_WRITES = (CAPACITY, ON_FAILURE)

# What a refusal is called where it is one statement's of a batch.
_BATCH_CODES = {
    "ConditionalCheckFailedException": "ConditionalCheckFailed",
    "DuplicateItemException": "DuplicateItem",
    "InternalServerError": "InternalServerError",
    "ProvisionedThroughputExceededException": "ProvisionedThroughputExceeded",
    "ResourceNotFoundException": "ResourceNotFound",
    "ThrottlingException": "ThrottlingError",
    "ValidationException": "ValidationError",
}


class Statements:
    """Takes statements apart, and has the tables do what they say."""

    def __init__(self, keys_of: KeysOf, do: Do, leaves: Leaves) -> None:
        self._keys_of = keys_of
        self._do = do
        self._leaves = leaves

    def execute(self, asked: Mapping[str, Any]) -> Body:
        """ExecuteStatement: of a SELECT a page, and what the next one goes on from."""
        statement = self._parse(asked)
        if statement.verb == "EXISTS":
            raise invalid("EXISTS is for transactions")
        place = read_token(asked["NextToken"], asked) if statement.is_read and "NextToken" in asked else {}
        answer = self._run(statement, asked, **place)
        told: Body = {"Items": list(map(statement.selected, _items(answer)))}
        if "LastEvaluatedKey" in answer:
            told["LastEvaluatedKey"] = answer["LastEvaluatedKey"]
            told["NextToken"] = write_token(answer["LastEvaluatedKey"], asked)
        return told | _consumed(answer)

    def execute_batch(self, body: Mapping[str, Any]) -> Body:
        """BatchExecuteStatement: each by itself, and some may fail; all read, or all write."""
        parsed = [self._parsed(asked) for asked in body["Statements"]]
        if len({one.is_read for one in parsed if isinstance(one, Statement)}) > 1:
            raise invalid("A batch reads or writes: it cannot have both kinds of statements")
        consumed: list[Body] = []
        responses = []
        for one, asked in zip(parsed, body["Statements"], strict=True):
            how = {name: body[name] for name in (CAPACITY,) if name in body}
            responses.append(self._respond(one, {**asked, **how}, consumed))
        return {"Responses": responses} | ({"ConsumedCapacity": consumed} if consumed else {})

    def execute_transaction(self, body: Mapping[str, Any]) -> Body:
        """ExecuteTransaction: all or none; all read, or all write."""
        statements = [self._parse(asked) for asked in body["TransactStatements"]]
        if len({statement.is_read for statement in statements}) > 1:
            raise invalid("A transaction reads or writes: it cannot have both kinds of statements")
        how = {name: body[name] for name in (CAPACITY,) if name in body}
        if statements[0].is_read:
            gets = [{"Get": _get(statement, "ExecuteTransaction")} for statement in statements]
            answer = self._do("TransactGetItems", {"TransactItems": gets, **how})
            for statement, told in zip(statements, answer["Responses"], strict=True):
                told.update({name: statement.selected(item) for name, item in told.items()})
            return answer
        items = [{_ACTIONS[statement.operation]: _action(statement)} for statement in statements]
        for item, asked in zip(items, body["TransactStatements"], strict=True):
            [action] = item.values()
            action.update({name: asked[name] for name in (ON_FAILURE,) if name in asked})
        try:
            answer = self._do("TransactWriteItems", {"TransactItems": items, **how})
        except Refusal as refusal:
            raise _as_duplicates(refusal, statements) from None
        return {"Responses": [{} for _ in statements]} | _consumed(answer)

    # -- inside

    def _parse(self, asked: Mapping[str, Any]) -> Statement:
        return parse(asked["Statement"], asked.get("Parameters") or (), self._keys_of)

    def _parsed(self, asked: Mapping[str, Any]) -> Statement | Refusal:
        try:
            return self._parse(asked)
        except Refusal as refusal:
            return refusal

    def _run(self, statement: Statement, asked: Mapping[str, Any], **more: Any) -> Body:
        """What one statement gives, as the answer of its operation."""
        members = _OF_READS if statement.is_read else _OF_WRITES
        body = statement.body | {name: asked[name] for name in members if name in asked} | more
        try:
            return self._do(statement.operation, body)
        except Refusal as refusal:
            if statement.verb == "INSERT" and refusal.name == "ConditionalCheckFailedException":
                raise Refusal("DuplicateItemException", _DUPLICATE) from None
            raise

    def _respond(self, one: Statement | Refusal, asked: Mapping[str, Any], consumed: list[Body]) -> Body:
        if isinstance(one, Refusal):
            return {"Error": _error(one)}
        try:
            if one.verb == "EXISTS":
                raise invalid("EXISTS is for transactions")
            if one.is_read:
                _get(one, "BatchExecuteStatement")
            if self._leaves(
                "BatchExecuteStatement", msgspec.json.encode([asked["Statement"], asked.get("Parameters")])
            ):
                raise throughput_exceeded()
            answer = self._run(one, asked)
        except Refusal as refusal:
            return {"Error": _error(refusal), "TableName": one.table}
        consumed += _consumed(answer).values()
        items = _items(answer)
        return {"TableName": one.table} | ({"Item": one.selected(items[0])} if items else {})


def _items(answer: Body) -> list[Body]:
    if "Items" in answer:
        return list(answer["Items"])
    return [answer["Attributes"]] if answer.get("Attributes") else []


def _consumed(answer: Body) -> Body:
    return {name: answer[name] for name in ("ConsumedCapacity",) if name in answer}


def _get(statement: Statement, operation: str) -> Body:
    """A SELECT as the Get of the one item that it names."""
    if statement.get is None:
        raise invalid(f"Select statements within {operation} must specify the primary key in the where clause.")
    return statement.get


def _action(statement: Statement) -> Body:
    """The statement as an action of a transaction, which returns nothing."""
    return {name: value for name, value in statement.body.items() if name != "ReturnValues"}


def _error(refusal: Refusal) -> Body:
    code = _BATCH_CODES.get(refusal.name, "InternalServerError")
    return {"Code": code, "Message": refusal.message} | (
        {"Item": refusal.more["Item"]} if "Item" in refusal.more else {}
    )


def _as_duplicates(refusal: Refusal, statements: list[Statement]) -> Refusal:
    """A transaction's refusal, in which an INSERT over an item is called by its own name."""
    reasons = refusal.more.get("CancellationReasons")
    if reasons is None:
        return refusal
    told = [
        {"Code": "DuplicateItem", "Message": _DUPLICATE}
        if statement.verb == "INSERT" and reason.get("Code") == "ConditionalCheckFailed"
        else reason
        for statement, reason in zip(statements, reasons, strict=True)
    ]
    message = refusal.message.partition("[")[0] + f"[{', '.join(reason['Code'] for reason in told)}]"
    return Refusal(refusal.name, message, refusal.status, **{**refusal.more, "CancellationReasons": told})
