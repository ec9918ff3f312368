"""Tables: real ones behind the streams, on the same endpoint: moto's, with streams and time to live of our own."""

from streamiter.testing.tables.api import TableApi as TableApi
from streamiter.testing.tables.desk import TablesDesk as TablesDesk
