"""Statements: the three operations that take PartiQL, done by the operations that their statements stand for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from streamiter.testing.http.refusal import Refusal, invalid
from streamiter.testing.tables.partiql import KeysOf, Statement, parse

Body = dict[str, Any]
Do = Callable[[str, Body], Body]  # an operation of the tables, and its body

_ACTIONS = {"PutItem": "Put", "UpdateItem": "Update", "DeleteItem": "Delete", "ConditionCheck": "ConditionCheck"}
_DUPLICATE = "Duplicate primary key exists in table"

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

    def __init__(self, keys_of: KeysOf, do: Do) -> None:
        self._keys_of = keys_of
        self._do = do

    def execute(self, asked: Mapping[str, Any]) -> Body:
        """ExecuteStatement."""
        statement = self._parse(asked)
        if statement.verb == "EXISTS":
            raise invalid("EXISTS is for transactions")
        return {"Items": self._run(statement, asked)}

    def execute_batch(self, body: Mapping[str, Any]) -> Body:
        """BatchExecuteStatement: each by itself, and some may fail; all read, or all write."""
        responses = [self._respond(asked) for asked in self._same_kind(body["Statements"])]
        return {"Responses": responses}

    def execute_transaction(self, body: Mapping[str, Any]) -> Body:
        """ExecuteTransaction: all or none; all read, or all write."""
        statements = [self._parse(asked) for asked in body["TransactStatements"]]
        if len({statement.is_read for statement in statements}) > 1:
            raise invalid("A transaction reads or writes: it cannot have both kinds of statements")
        if statements[0].is_read:
            found = [self._run(statement, {}) for statement in statements]
            return {"Responses": [{"Item": items[0]} if items else {} for items in found]}
        items = [{_ACTIONS[statement.operation]: _action(statement)} for statement in statements]
        try:
            self._do("TransactWriteItems", {"TransactItems": items})
        except Refusal as refusal:
            raise _as_duplicates(refusal, statements) from None
        return {"Responses": [{} for _ in statements]}

    # -- inside

    def _parse(self, asked: Mapping[str, Any]) -> Statement:
        return parse(asked["Statement"], asked.get("Parameters") or (), self._keys_of)

    def _run(self, statement: Statement, asked: Mapping[str, Any]) -> list[Body]:
        """What one statement gives."""
        body = statement.body
        if statement.is_read:
            return self._scan(body)
        if asked.get("ReturnValuesOnConditionCheckFailure") is not None:
            body = body | {"ReturnValuesOnConditionCheckFailure": asked["ReturnValuesOnConditionCheckFailure"]}
        try:
            answer = self._do(statement.operation, body)
        except Refusal as refusal:
            if statement.verb == "INSERT" and refusal.name == "ConditionalCheckFailedException":
                raise Refusal("DuplicateItemException", _DUPLICATE) from None
            raise
        return [answer["Attributes"]] if answer.get("Attributes") else []

    def _scan(self, body: Body) -> list[Body]:
        items: list[Body] = []
        while True:
            page = self._do("Scan", body)
            items += page["Items"]
            if "LastEvaluatedKey" not in page:
                return items
            body = body | {"ExclusiveStartKey": page["LastEvaluatedKey"]}

    def _respond(self, asked: Mapping[str, Any]) -> Body:
        try:
            statement = self._parse(asked)
        except Refusal as refusal:
            return {"Error": _error(refusal)}
        try:
            items = self._run(statement, asked)
        except Refusal as refusal:
            return {"Error": _error(refusal), "TableName": statement.table}
        return {"TableName": statement.table} | ({"Item": items[0]} if items else {})

    @staticmethod
    def _same_kind(asked: list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        if len({str(one["Statement"]).split(None, 1)[:1] == ["SELECT"] for one in asked}) > 1:
            raise invalid("A batch reads or writes: it cannot have both kinds of statements")
        return asked


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
