"""The verdict: what the killed and resumed reader read, against what it should have read; pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from streamiter.demo.law import Name
from streamiter.demo.screen import Line
from streamiter.terminal import Span


@dataclass(frozen=True)
class Verdict:
    """How a reading compares with the records written, in the order that the law gives them."""

    written: int
    lost: int
    twice: int
    invented: int
    in_order: bool

    @classmethod
    def of(cls, read: Sequence[Name], due: Sequence[Name], unkilled: Sequence[Name]) -> Verdict:
        """`due` is what should come out, by law; `unkilled` is what came out of a stream that nobody killed."""
        return cls(
            len(due),
            len(set(due) - set(read)),
            len(read) - len(set(read)),
            len(set(read) - set(due)),
            list(read) == list(due) == list(unkilled),
        )

    @property
    def is_good(self) -> bool:
        """Whether all is as it should be."""
        return self.in_order  # the same list: nothing is missing, nothing is there twice

    @property
    def line(self) -> Line:
        """The comparison, in words."""
        order = "same order as" if self.in_order else "another order than"
        invented = f", {self.invented} never written" if self.invented else ""
        text = (
            f"{self.written} records: {self.lost or 'nothing'} lost, {self.twice or 'nothing'} twice{invented}, "
            f"{order} without the kill"
        )
        return [Span(f"✓ {text}", "good") if self.is_good else Span(f"✗ {text}", "bad")]
