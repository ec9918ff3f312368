"""Tokens: where reading of a whole stream stands, as a value and as a small JSON-friendly dict."""

from streamiter.token.loading import load_token as load_token
from streamiter.token.packing import VERSION as VERSION
from streamiter.token.values import DAY_US as DAY_US
from streamiter.token.values import Token as Token
from streamiter.token.values import TokenLane as TokenLane
from streamiter.token.values import high_key as high_key
