"""What to do next: pages and listings in, wishes and records out; pure."""

from streamiter.reading.asking import Ask as Ask
from streamiter.reading.book import Book as Book
from streamiter.reading.book import Stage as Stage
from streamiter.reading.caught_up import Mark as Mark
from streamiter.reading.handed import Handed as Handed
from streamiter.reading.reading import Reading as Reading
from streamiter.reading.reading import Wishes as Wishes
