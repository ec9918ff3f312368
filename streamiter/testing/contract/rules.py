"""The rules: what a source promises."""

from streamiter.testing.contract import giving, refusing

RULES = (*giving.RULES, *refusing.RULES)
