"""Topics: logs that values are written to and read from: by a record class, a key and a codec."""

from streamiter.topic.codec import Codec as Codec
from streamiter.topic.sent import Sent as Sent
from streamiter.topic.sent import SentMany as SentMany
from streamiter.topic.sent import Written as Written
from streamiter.topic.topic import Topic as Topic
