"""AsyncStream: a stream's face for asyncio."""

from streamiter.aio.stream import AsyncStream as AsyncStream
