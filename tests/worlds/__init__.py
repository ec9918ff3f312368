"""Worlds: all that a service holds, told page by page and listing by listing, and a driver that reads it through the core.

A world is the truth: shards, parents, records. What the service tells of it (page cuts, runs of empty pages, listings that
lag) and in what order the answers arrive is read off a *tape*: bytes that hypothesis draws. On an empty tape everything is
told at once and in order, so that a failing tape shrinks towards the plain case.
"""

from tests.worlds.drive import Drive as Drive
from tests.worlds.drive import Out as Out
from tests.worlds.pages import Pages as Pages
from tests.worlds.pages import Told as Told
from tests.worlds.tape import Tape as Tape
from tests.worlds.world import ALWAYS as ALWAYS
from tests.worlds.world import DAY as DAY
from tests.worlds.world import HOUR as HOUR
from tests.worlds.world import NOW as NOW
from tests.worlds.world import SECOND as SECOND
from tests.worlds.world import STREAM as STREAM
from tests.worlds.world import Lag as Lag
from tests.worlds.world import Truth as Truth
from tests.worlds.world import World as World
from tests.worlds.world import WorldShard as WorldShard
from tests.worlds.world import truths as truths
