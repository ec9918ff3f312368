"""Where: the small language of `--where`, which picks records by event, key and images; nothing is ever evaluated as code.

event = MODIFY and key = A1234            key: any part of the row's key
event in (INSERT, REMOVE)                 key.NAME, new.NAME, old.NAME, shard, late
new.status != old.status                  attributes against each other; changed(status) says the same
exists(new.email) and not late            whether there is such an attribute; whether the record came late
payload.page = 3 or payload *= error      of Kinesis records that are no changes of rows; their key is the partition key
new.total >= 10 and not old.status = paid       = != < <= > >=, ^= begins with, *= contains
(key ^= A or key ^= B) and new.customer = "ann lee"
"""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from functools import cache

from streamiter.record import Record
from streamiter.where.clauses import Clause, Comparison, Typed, leaves, named_in, test_of
from streamiter.where.comparing import ORDERINGS, Word, is_number
from streamiter.where.fields import Field, names_in, read_field, why_not_in, why_not_of
from streamiter.where.parser import WhereError as WhereError
from streamiter.where.parser import parse_clause

MOST_NAMES = 1000  # of attributes that are remembered, to say what a wrong one may have meant


class Where:
    """What a text asks of a record; it remembers what no record had."""

    def __init__(self, text: str, clause: Clause) -> None:
        self.clause = clause
        self._text = text
        self._test = test_of(clause)
        self._looked_at = self._fitting = 0
        self._missing = list(dict.fromkeys(named.field for named in named_in(clause) if named.field.path))
        self._misfits = list(filter(None, map(_misfit_of, leaves(clause))))
        self._names: set[str] = set()

    def __call__(self, record: Record) -> bool:
        self._looked_at += 1
        if self._missing or self._misfits:
            self._remember(record)
        fits = self._test(record)
        self._fitting += fits
        return fits

    def check_for(self, record_type: type[Record] | None, view_type: Callable[[], str | None]) -> None:
        """WhereError where a stream's records lack a field. `view_type` is asked only where that depends on it."""
        view_type = cache(view_type)
        for named in named_in(self.clause):
            why = None if record_type is None else why_not_of(named.field, record_type)
            if why is None and named.field.name in ("new", "old"):
                why = why_not_in(named.field, view_type())
            if why is not None:
                raise WhereError(self._text, named.at, why)

    def verdict(self) -> str | None:
        """In the end: how many records fit, and what none of them had; None where there is nothing to say."""
        if not self._looked_at or (self._fitting and not self._missing):
            return None
        told = f"--where: {self._fitting:,} of {self._looked_at:,} records fit"
        if self._missing:
            told += f"; none had {' or '.join(map(self._shown, self._missing))}"
        remarks = [] if self._fitting else [misfit.remark for misfit in self._misfits if misfit.remark]
        return "; ".join([told, *remarks])

    def _remember(self, record: Record) -> None:
        self._missing = [field for field in self._missing if not any(True for _ in read_field(record, field))]
        self._misfits = [misfit for misfit in self._misfits if not misfit.has_met(record)]
        if self._missing and len(self._names) < MOST_NAMES:
            self._names.update(names_in(record))

    def _shown(self, field: Field) -> str:
        near = get_close_matches(str(field), self._names, n=1, cutoff=0.75)
        return f"{field} (did you mean {near[0]}?)" if near else str(field)


class _Misfit:
    """A comparison whose field was of another kind than what was typed, as long as that is so of each record."""

    def __init__(self, comparison: Comparison, asked: str) -> None:
        self._field = comparison.left.field
        self._operator = comparison.operator
        self._asked = asked
        self._found: set[str] = set()

    @property
    def remark(self) -> str | None:
        """What to type instead, where all values were of one other kind."""
        if self._found == {"text"} and isinstance(self._asked, Word):
            return f"{self._field} is text, not a number: write the value in quotes to compare text, '{self._asked}'"
        if self._found == {"number"} and not isinstance(self._asked, Word):
            return f"{self._field} is a number, not text: leave out the quotes"
        return None

    def has_met(self, record: Record) -> bool:
        """Whether the record has a value that can be compared; from then on there is nothing to say."""
        for found in read_field(record, self._field):
            if not is_number(found) and not isinstance(found, str):
                return True
            self._found.add("number" if is_number(found) else "text")
            if isinstance(found, str) != is_number(_meant(self._asked)):
                return True
        return False


def _meant(asked: str) -> object:
    return asked.meant if isinstance(asked, Word) else asked


def _misfit_of(leaf: object) -> _Misfit | None:
    """Only where kinds matter: a text is never less than a number, and a number is never a text in quotes."""
    if not isinstance(leaf, Comparison) or not isinstance(leaf.right, Typed):
        return None
    asked = leaf.right.value
    if leaf.operator in ORDERINGS or (leaf.operator == "=" and not isinstance(asked, Word)):
        return _Misfit(leaf, asked)
    return None


def parse_where(text: str) -> Where:
    """The test that the text describes; WhereError says where it goes wrong."""
    return Where(text, parse_clause(text))
