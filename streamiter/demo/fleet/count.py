"""The count: the bills that the fleet wrote against the orders that were sent; pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from streamiter.demo.screen import Line
from streamiter.terminal import Span

Bill = tuple[str, int, str]  # the customer, the order's number, and who wrote it


@dataclass(frozen=True)
class Count:
    """How the bills compare with the orders."""

    orders: int
    lost: int
    twice: int
    out_of_order: int  # customers whose bills are not in the order of their orders

    @classmethod
    def of(cls, bills: Sequence[Bill], orders: int) -> Count:
        """`bills` as they were written; orders are numbered from 1."""
        numbers = [number for _, number, _ in bills]
        by_customer: dict[str, list[int]] = defaultdict(list)
        for customer, number, _ in bills:
            by_customer[customer].append(number)
        wrong = sum(found != sorted(found) for found in by_customer.values())
        return cls(orders, orders - len(set(numbers)), len(numbers) - len(set(numbers)), wrong)

    @property
    def is_good(self) -> bool:
        """Whether all is as it should be."""
        return not (self.lost or self.twice or self.out_of_order)

    @property
    def line(self) -> Line:
        """The comparison, in words."""
        order = "each customer's in order" if not self.out_of_order else f"{self.out_of_order} customers' out of order"
        text = f"{self.orders} orders: {self.lost or 'none'} lost, {self.twice or 'none'} billed twice, {order}"
        return [Span(f"✓ {text}", "good") if self.is_good else Span(f"✗ {text}", "bad")]
