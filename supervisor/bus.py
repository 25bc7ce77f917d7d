"""Publish and subscribe: frames are encoded once and kept in a ring; a subscriber is a cursor over it.

Nobody waits for anybody: publishing never blocks, and who falls out of the ring is told so and catches up elsewhere.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, NamedTuple

import trio

from supervisor.events import AnyEvent, TextDelta, encoder
from supervisor.events import Status as StatusFrame

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    Filter = Callable[["Frame"], bool]

CAPACITY = 4096


class Frame(NamedTuple):
    """An event as it goes over the wire; a transient one has no `seq`."""

    seq: int | None
    text: str
    event: AnyEvent | TextDelta | StatusFrame


class Behind(Exception):
    """The subscriber was too slow and has missed frames; `seq` is the last one it has had."""


class Subscription:
    """A cursor; holds nothing but its place."""

    def __init__(self, bus: Bus, wanted: Filter | None) -> None:
        self._bus = bus
        self.wanted = wanted
        """Which frames it takes."""
        self._place = bus.end

    def ready(self) -> list[Frame]:
        """What was published since the last call; raises Behind, and stands at the newest frame afterwards."""
        bus = self._bus
        place, self._place = self._place, bus.end
        if place < bus.begin:
            raise Behind
        new = [bus.frames[n - bus.begin] for n in range(place, bus.end)]
        return [frame for frame in new if self.wanted(frame)] if self.wanted else new

    async def receive(self) -> list[Frame]:
        """Wait for at least one frame."""
        while not (frames := self.ready()):
            await self._bus.wait()
        return frames


class Bus:
    """The ring."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self.frames: deque[Frame] = deque(maxlen=capacity)
        self.end = 0
        self._news = trio.Event()

    @property
    def begin(self) -> int:
        """The number of the oldest frame that is still there."""
        return self.end - len(self.frames)

    def subscribe(self, wanted: Filter | None = None) -> Subscription:
        return Subscription(self, wanted)

    def publish(self, events: Iterable[AnyEvent | TextDelta | StatusFrame]) -> None:
        for event in events:
            self.frames.append(Frame(getattr(event, "seq", None), encoder.encode(event).decode(), event))
            self.end += 1
        self.wake()

    def wake(self) -> None:
        """Let everybody look, also where nothing was published."""
        news, self._news = self._news, trio.Event()
        news.set()

    async def wait(self) -> None:
        await self._news.wait()
