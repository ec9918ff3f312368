"""The store: rows with versions, which workers share: who holds which lease, who is alive."""

from streamiter.store.base import Announcement as Announcement
from streamiter.store.base import Announcer as Announcer
from streamiter.store.base import Move as Move
from streamiter.store.base import Row as Row
from streamiter.store.base import Store as Store
from streamiter.store.base import Table as Table
from streamiter.store.base import Write as Write
from streamiter.store.locate import open_store as open_store
